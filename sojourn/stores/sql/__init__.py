"""SQL shared by the SQLite and the PostgreSQL store. Each database supplies only its connection (`Db`), its
notifications between processes and its search index."""
