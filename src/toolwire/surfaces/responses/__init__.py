"""OpenAI's Responses API, as clients speak it."""
