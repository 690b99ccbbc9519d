"""Why a turn went as it did, and running it again."""
