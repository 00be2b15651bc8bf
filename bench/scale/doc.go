// Command scale measures the cost of stored runs, and prints the tables of docs/scale.md.
//
//	go run ./bench/scale                       # rows, bytes, commits and processor time of typical runs,
//	                                           # on SQLite and PostgreSQL
//	go run ./bench/scale -retention 200000     # deleting old runs in steps, compared with dropping partitions
//	go run ./bench/scale -db postgres://…      # on your own server, in a schema that is dropped at the end;
//	                                           # its user must be a superuser
//
// Without -db it starts the machine's PostgreSQL, with its data in a temporary folder (TMPDIR), and
// removes it at the end.
package main
