-- What agents have beside the columns: a JSON object of the keys of their definition that have no column. NULL: nothing.
ALTER TABLE agents ADD COLUMN definition TEXT;

PRAGMA user_version = 6;
