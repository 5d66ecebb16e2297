"""What the two SQL stores share: every statement, once. A database differs only in how it is
reached (`Db`), how others are told (`bell`) and how words are looked up (`search`)."""
