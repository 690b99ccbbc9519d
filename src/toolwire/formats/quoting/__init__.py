"""What is quoted, in Markdown or in prose, is not a call."""
