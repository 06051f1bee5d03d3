VERSION: str = "0.1.0"
