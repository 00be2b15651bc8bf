-- The fingerprint of the key by which secrets are sealed and links are signed: one row, in the schema of the default namespace alone, from the first use of the key on. The key itself is in a file of
-- each machine.
CREATE TABLE hocket_key (
  id          integer PRIMARY KEY CHECK (id = 1),
  fingerprint text NOT NULL
);
