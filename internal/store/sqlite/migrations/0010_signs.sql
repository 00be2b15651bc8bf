-- Signs of life of those who drive runs (D15): the name of the machine, and when the last one was given by the owner's own clock; 0 is never.
ALTER TABLE owners ADD COLUMN host TEXT NOT NULL DEFAULT '';
ALTER TABLE owners ADD COLUMN seen INTEGER NOT NULL DEFAULT 0;

PRAGMA user_version = 10;
