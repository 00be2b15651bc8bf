package scripts_test

import (
	"database/sql"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
	_ "modernc.org/sqlite" // other programs write the tables with it
)

// cmdSQL runs statements on a database, as another program would: sql DB FILE
func cmdSQL(ts *testscript.TestScript, _ bool, args []string) {
	db, err := sql.Open("sqlite", "file:"+ts.MkAbs(args[0])+"?_pragma=busy_timeout(10000)")
	ts.Check(err)
	defer db.Close()
	_, err = db.Exec(ts.ReadFile(args[1]))
	ts.Check(err)
}

// cmdPage copies the first code block in a language from a page in docs/ to a file: page PAGE
// LANGUAGE FILE
func cmdPage(ts *testscript.TestScript, _ bool, args []string) {
	page, err := os.ReadFile(filepath.Join(repository, "docs", args[0]))
	ts.Check(err)
	_, block, found := strings.Cut(string(page), "\n```"+args[1]+"\n")
	block, _, closed := strings.Cut(block, "\n```\n")
	if !found || !closed {
		ts.Fatalf("docs/%s has no block of %s", args[0], args[1])
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[2]), []byte(block), 0o600))
}

// cmdBytes writes a binary file: bytes FILE QUOTED
func cmdBytes(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: bytes FILE QUOTED")
	}
	text, err := strconv.Unquote(args[1])
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(text), 0o600))
}

// cmdCRLF copies a file, adding a byte order mark and Windows line endings: crlf FROM TO
func cmdCRLF(ts *testscript.TestScript, _ bool, args []string) {
	text := "\ufeff" + strings.ReplaceAll(ts.ReadFile(args[0]), "\n", "\r\n")
	ts.Check(os.WriteFile(ts.MkAbs(args[1]), []byte(text), 0o600))
}
