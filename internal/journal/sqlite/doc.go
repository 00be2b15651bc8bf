// Package sqlite keeps journals in one SQLite file that several processes may share.
package sqlite
