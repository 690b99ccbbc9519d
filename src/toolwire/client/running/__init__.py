"""The loop that calls the model and its tools until an answer is there."""
