package main

import (
	"go.temporal.io/server/common/config"
	"go.temporal.io/server/common/log"
	"go.temporal.io/server/tools/common/schema"
	"go.temporal.io/server/tools/sql"
)

// migrate creates the schema of a database, or brings it up to date, using the server's files in a
// folder.
func migrate(cfg *config.SQL, folder string, logger log.Logger) error {
	c, err := sql.NewConnection(cfg, logger)
	if err != nil {
		return err
	}
	defer c.Close()
	if _, err := c.ReadSchemaVersion(); err != nil { // it has no tables yet
		if err := schema.NewSetupSchemaTask(c, &schema.SetupConfig{InitialVersion: "0.0"}, logger).Run(); err != nil {
			return err
		}
	}
	return schema.NewUpdateSchemaTask(c, &schema.UpdateConfig{DBName: cfg.DatabaseName, SchemaName: folder},
		logger).Run()
}
