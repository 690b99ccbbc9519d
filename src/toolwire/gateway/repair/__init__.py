"""Do calls fit their tools, and what is done about those that do not?"""
