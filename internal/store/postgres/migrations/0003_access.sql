-- Tokens, and the audit log of a server. Only the store of the namespace `default` has rows here. Times are µs since 1970; 0 is none.
CREATE TABLE namespaces (
  name    text COLLATE "C" NOT NULL PRIMARY KEY,  -- all but `default`
  created bigint           NOT NULL,
  number  integer GENERATED ALWAYS AS IDENTITY UNIQUE  -- of its schema: a name may be as long as that of a schema
);

CREATE TABLE access_tokens (
  n         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  hash      bytea            NOT NULL UNIQUE,  -- SHA-256 of the text, which is not stored (SEC2)
  namespace text COLLATE "C" NOT NULL,
  id        text COLLATE "C" NOT NULL,
  name      text COLLATE "C" NOT NULL,
  role      text COLLATE "C" NOT NULL,
  approve   bigint           NOT NULL,
  created   bigint           NOT NULL,
  expires   bigint           NOT NULL,
  used      bigint           NOT NULL,         -- not every use is noted
  UNIQUE (namespace, id)
);

-- Sessions of browsers, and one-time codes that begin one. Their rights are those of the token.
CREATE TABLE access_sessions (
  n         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  hash      bytea            NOT NULL UNIQUE,  -- SHA-256 of the text, which is not stored (SEC2)
  namespace text COLLATE "C" NOT NULL,
  token     text COLLATE "C" NOT NULL,
  code      bigint           NOT NULL,
  created   bigint           NOT NULL,
  expires   bigint           NOT NULL
);
CREATE INDEX access_sessions_by_token ON access_sessions (namespace, token);

-- What callers named may have any bytes.
CREATE TABLE audit (
  namespace text COLLATE "C" NOT NULL,
  n         bigint           NOT NULL,         -- counts those of the namespace
  at        bigint           NOT NULL,
  token     text COLLATE "C" NOT NULL,
  actor     bytea            NOT NULL,
  channel   text COLLATE "C" NOT NULL,         -- the way in, such as `http`
  action    bytea            NOT NULL,
  target    bytea            NOT NULL,
  outcome   text COLLATE "C" NOT NULL,
  request   bytea            NOT NULL,
  remote    bytea            NOT NULL,
  PRIMARY KEY (namespace, n)
);

-- See catalog_turn.
CREATE TABLE access_turn ();
