-- What agents keep over runs with toolsets of type memory. Runs do not need it; it stays when a run is pruned. Agents and their models may use any bytes.
CREATE TABLE memories (
  n        bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,  -- the id; never used again
  space    bytea            NOT NULL,          -- of a workflow and a toolset
  key      bytea            NOT NULL,          -- idempotency key of the call that added it
  category bytea            NOT NULL,
  text     bytea            NOT NULL,
  at       text COLLATE "C" NOT NULL,          -- RFC 3339, UTC: when it was written last
  UNIQUE (space, key)
);
CREATE INDEX memories_order ON memories (space, n);

-- See catalog_turn.
CREATE TABLE memories_turn ();
