"""A second surface, as small as it can be: text and one tool call of Anthropic's Messages.

It shows what an API needs of its own, and that nothing outside its folder has to know it.
"""
