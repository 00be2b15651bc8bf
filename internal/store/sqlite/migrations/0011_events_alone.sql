-- A run is folded from its events: the state of the engine is not stored beside them.
DROP TABLE snapshots;

PRAGMA user_version = 11;
