"""OpenAI's chat completions, as clients speak them."""
