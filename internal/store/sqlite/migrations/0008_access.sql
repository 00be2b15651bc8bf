-- Who may use a server, and who did what. Only the store of the namespace `default` has rows here. Times are µs since 1970; 0 is none.
CREATE TABLE namespaces (
  name    TEXT    PRIMARY KEY,              -- all but `default`
  created INTEGER NOT NULL
) WITHOUT ROWID;

CREATE TABLE access_tokens (
  n         INTEGER PRIMARY KEY AUTOINCREMENT,
  hash      BLOB    NOT NULL UNIQUE,        -- SHA-256 of the text, which stands nowhere (SEC2)
  namespace TEXT    NOT NULL,
  id        TEXT    NOT NULL,
  name      TEXT    NOT NULL,
  role      TEXT    NOT NULL,
  approve   INTEGER NOT NULL,
  created   INTEGER NOT NULL,
  expires   INTEGER NOT NULL,
  used      INTEGER NOT NULL,               -- not every use is noted
  UNIQUE (namespace, id)
);

CREATE TABLE audit (
  namespace TEXT    NOT NULL,
  n         INTEGER NOT NULL,               -- counts those of the namespace
  at        INTEGER NOT NULL,
  token     TEXT    NOT NULL,
  actor     TEXT    NOT NULL,
  channel   TEXT    NOT NULL,               -- the way in, such as `http`
  action    TEXT    NOT NULL,
  target    TEXT    NOT NULL,
  outcome   TEXT    NOT NULL,
  request   TEXT    NOT NULL,
  remote    TEXT    NOT NULL,
  PRIMARY KEY (namespace, n)
) WITHOUT ROWID;

PRAGMA user_version = 8;
