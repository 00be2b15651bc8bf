package lint_test

import (
	"go/ast"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// Patterns of things that comments and pages name.
var (
	goFile   = phraseOf(`(?:^|[\s(,/"` + "`" + `])((?:[\w.-]+/)*[A-Za-z0-9][\w-]*\.go)\b`)
	mdFile   = phraseOf(`([\w./-]*\w\.md)\b`)
	folder   = phraseOf(`\b((?:internal|web/src|web/specs|cmd|bench|docs)/[\w/-]*\w)`)
	testName = phraseOf(`\b((?:Test|Fuzz|Benchmark)[A-Z]\w*)\b`)
	docLink  = phraseOf(`(?:^|[^\w\]])\[\*?((?:\w+\.)?(?:\w+\.)?[A-Z]\w*)\](?:[^(:]|$)`)
	flagName = phraseOf("(?:^|[\\s(`])(--[a-z][a-z-]*[a-z])")
	command  = phraseOf("(\\S+ |`)hocket ([a-z][a-z-]*)( [a-z][a-z-]*)?")
)

// Parts of texts that name nothing in the repository: addresses and values, such as files of users,
// and the name of the package or program.
var (
	elsewhere  = regexp.MustCompile(`\w+://\S+|\bpath: \S+|\w=\S+`)
	nameBefore = regexp.MustCompile(`(?i)\b(packages?|command) $`)
)

// placeholder matches names that stand for others, internal/model/PROVIDER, VERB.md, [BODY], and
// those of the reference documents, which are not in the repository.
var placeholder = regexp.MustCompile(`(^|/)([A-Z]+|(VERB|SKILL)\.md)$|^\d-\w+\.md$`)

// declared is what the files of the repository declare.
type declared struct {
	names    map[string]map[string]bool   // declared names by folder, including Type.Member
	parents  map[string][]string          // by folder and type: the types whose members it has too
	imports  map[string]map[string]string // import paths by folder and name
	packages map[string][]string          // folders by the name of their package
	foreign  map[string]bool              // names of imported packages of other modules
	tests    map[string]bool              // test functions of all packages
	ends     map[string]bool              // the last parts of the paths of all files
	verbs    map[string]bool              // commands of the program, such as "runs show", and its flags
}

// TestSignposts checks that what comments, pages and decisions name exists: files, folders,
// pages, tests, commands and flags of the program, and the targets of doc links.
func TestSignposts(t *testing.T) {
	t.Parallel()
	src := declaredNames(t)
	checked := 0
	for _, f := range sources(t) {
		for _, group := range f.Comments {
			checked += len(group.List)
			text := commentText(group)
			for _, missing := range append(src.missing(f.folder(), text, false), src.brokenLinks(f.folder(), text)...) {
				t.Errorf("%s: %s does not exist", at(group), missing)
			}
		}
	}
	for _, page := range files(t) {
		if scripts.MatchString(page) && !strings.HasSuffix(page, ".gen.ts") {
			commentsOf(read(t, page), func(line int, text string) {
				for _, missing := range src.missing(path.Dir(page), text, true) {
					t.Errorf("%s:%d: %s does not exist", page, line, missing)
				}
			})
		}
		if path.Ext(page) != ".md" {
			continue
		}
		text, past := read(t, page), false
		if strings.Contains(text, "\nStatus: superseded") {
			continue
		}
		for i, line := range strings.Split(text, "\n") {
			checked++
			if strings.HasPrefix(line, "**") { // what was there before a decision, and what was not done
				past = strings.HasPrefix(line, "**Context") || strings.HasPrefix(line, "**Alternatives")
			}
			if past {
				continue
			}
			for _, missing := range src.missing(path.Dir(page), line, true) {
				t.Errorf("%s:%d: %s does not exist", page, i+1, missing)
			}
		}
	}
	if checked < 30_000 {
		t.Errorf("%d comments and lines were checked: the test looks in the wrong place", checked)
	}
}

// TestDecisions checks that the index of decisions has a row for each, with the status of its page.
func TestDecisions(t *testing.T) {
	t.Parallel()
	index := read(t, "docs/adr/README.md")
	head := regexp.MustCompile(`^# \d+\. .+\n\nStatus: (accepted|superseded)\b(.*)`)
	later := regexp.MustCompile(`\bby \[ADR \d+\]\(((\d+)[^)]+)\)`)
	found := 0
	for _, name := range files(t) {
		file := path.Base(name)
		if path.Dir(name) != "docs/adr" || file == "README.md" {
			continue
		}
		found++
		m := head.FindStringSubmatch(read(t, name))
		if m == nil {
			t.Errorf("%s does not begin with a title and its status", name)
			continue
		}
		status, sep := "in force", "superseded in part by "
		if m[1] != "accepted" {
			sep = "superseded by "
		}
		for i, by := range later.FindAllStringSubmatch(m[2], -1) {
			if i == 0 {
				status = ""
			}
			status += sep + "[" + by[2] + "](" + by[1] + ")"
			sep = " and "
		}
		row := `(?m)^\| ` + regexp.QuoteMeta("["+file[:4]+"]("+file+")") + ` \| .+ \| ` +
			regexp.QuoteMeta(status) + ` \|$`
		if !regexp.MustCompile(row).MatchString(index) {
			t.Errorf("docs/adr/README.md has no row of %s with the status %q", file, status)
		}
	}
	if found < 100 {
		t.Errorf("found %d decisions", found)
	}
}

// TestSignposts_Finds checks that each kind of stale name is found, and that names that exist are
// not.
func TestSignposts_Finds(t *testing.T) {
	t.Parallel()
	src := declaredNames(t)
	for text, want := range map[string][]string{
		"see words.go":                                {"words.go"},
		"see phrases_test.go":                         nil,
		"internal/lint/phrases_test.go":               nil,
		"internal/rules":                              {"internal/rules"},
		"docs/STATUS.md and docs/roadmap.md":          {"docs/STATUS.md"},
		"contract.md, roadmap.md and a VERB.md":       {"contract.md"},
		"TestNothingIsLeft and TestSignposts":         {"TestNothingIsLeft"},
		"`internal/lint`, internal/engine/event.":     nil,
		"answers with reason=reason.md":               nil,
		"https://go.dev/src/cmd/go/main.go":           nil,
		"see https://go.dev/ and words.go":            {"words.go"},
		"the file journals.go describes nothing.":     {"journals.go"},
		"with hocket tail and hocket runs show":       {"hocket tail"},
		"`hocket tail`, `hocket runs take RUN`":       {"hocket tail", "hocket runs take"},
		"package hocket does it, as hocket run does.": nil,
		"with --json, --jsonl and `--follow`":         {"--jsonl"},
	} {
		if got := src.missing("internal/lint", text, false); !slices.Equal(got, want) {
			t.Errorf("%s: got %q, want %q", text, got, want)
		}
	}
	for link, want := range map[string]bool{
		"[TestSignposts]": true, "[ast.File]": true, "[nothing.File]": false, "[Absent]": false, "[declared]": true,
		"[declared.Absent]": false, "[source.Decls]": true, "[transport.Require]": true, "[transport.Absent]": false,
		"[graph.Graph.Absent]": false, "[hocket.Engine.Run]": true, "[time.Duration]": true,
	} {
		if got := src.brokenLinks("internal/lint", link); (len(got) == 0) != want {
			t.Errorf("%s: got %q", link, got)
		}
	}
}

// commentText returns the text of a comment in one line, without marks and directives.
func commentText(group *ast.CommentGroup) string {
	var b strings.Builder
	for _, c := range group.List {
		if !strings.HasPrefix(c.Text, "//go:") {
			b.WriteString(strings.Trim(c.Text, "/* \t") + " ")
		}
	}
	return b.String()
}

// missing returns the names of things in text, which belongs to a file in dir, that do not exist. A
// page may name a Go file without its folder.
func (s *declared) missing(dir, text string, page bool) []string {
	if strings.ContainsAny(text, ":=") {
		text = elsewhere.ReplaceAllString(text, "")
	}
	var out []string
	for _, m := range goFile.all(text) {
		name := m[1]
		if page && !strings.Contains(name, "/") && s.ends[name] {
			continue
		}
		if !exists(path.Join(dir, name)) && !exists(name) && !exists(path.Join("internal", name)) {
			out = append(out, name)
		}
	}
	for _, m := range append(mdFile.all(text), folder.all(text)...) {
		name := m[1]
		if !s.ends[name] && !exists(name) && !exists(path.Join(dir, name)) && !exists(path.Join("temporal", name)) &&
			!placeholder.MatchString(name) {
			out = append(out, name)
		}
	}
	for _, m := range testName.all(text) {
		if !s.tests[m[1]] && m[1] != "TestName" && !exists(path.Join(dir, m[1])) { // a component of the page
			out = append(out, m[1])
		}
	}
	for _, m := range command.all(text) {
		verb, below := m[2], m[3]
		switch {
		case page && m[1] != "`" || nameBefore.MatchString(m[1]):
		case !s.verbs[verb]:
			out = append(out, "hocket "+verb)
		case s.verbs[verb+" …"] && below != "" && strings.HasPrefix(m[0], "`") && !s.verbs[verb+below]:
			out = append(out, "hocket "+verb+below)
		}
	}
	for _, m := range flagName.all(text) {
		if !s.verbs[m[1]] && (!page || dir == "docs/adr") { // guides show commands of other programs too
			out = append(out, m[1])
		}
	}
	return out
}

// brokenLinks returns the doc links of a comment whose target is not declared.
func (s *declared) brokenLinks(dir, text string) []string {
	var out []string
	for _, m := range docLink.all(text) {
		if !placeholder.MatchString(m[1]) && !s.resolves(dir, m[1]) {
			out = append(out, "["+m[1]+"]")
		}
	}
	return out
}

// resolves reports whether a doc link in a package names something. What packages of other modules
// declare is not known.
func (s *declared) resolves(dir, link string) bool {
	first, rest, _ := strings.Cut(link, ".")
	if s.names[dir][first] || ast.IsExported(first) {
		return s.has(dir, link)
	}
	if pkg := s.imports[dir][first]; pkg != "" {
		return s.has(pathOf(pkg), rest)
	}
	return s.foreign[first] || slices.ContainsFunc(s.packages[first], func(in string) bool { return s.has(in, rest) })
}

// has reports whether a package declares a name, Name or Type.Member. All names of other modules do.
func (s *declared) has(dir, name string) bool {
	if s.names[dir] == nil || s.names[dir][name] {
		return true
	}
	typ, member, ok := strings.Cut(name, ".")
	return ok && slices.ContainsFunc(s.parents[dir+" "+typ], func(parent string) bool {
		in, typ, _ := strings.Cut(parent, " ")
		return !s.names[in][typ] || s.has(in, typ+"."+member)
	})
}

// declaredNames returns what the repository declares.
func declaredNames(t *testing.T) *declared {
	t.Helper()
	s := &declared{names: map[string]map[string]bool{}, parents: map[string][]string{},
		imports: map[string]map[string]string{}, packages: map[string][]string{}, foreign: map[string]bool{},
		tests: map[string]bool{}, ends: map[string]bool{}, verbs: map[string]bool{"help": true}}
	for _, f := range sources(t) {
		s.add(f)
	}
	for _, name := range files(t) {
		for i, c := range "/" + name {
			if c == '/' {
				s.ends[name[i:]] = true
			}
		}
		if path.Dir(name) != "docs/cli" {
			continue
		}
		text := read(t, name)
		for _, m := range regexp.MustCompile(`(?m)^##? hocket (\S+)( \S+)?$`).FindAllStringSubmatch(text, -1) {
			s.verbs[m[1]+m[2]] = true
			s.verbs[m[1]+" …"] = s.verbs[m[1]+" …"] || m[2] != ""
		}
		for _, m := range flagName.all(text) {
			s.verbs[m[1]] = true
		}
	}
	return s
}

// add adds what a file declares.
func (s *declared) add(f source) {
	dir := f.folder()
	if s.names[dir] == nil {
		s.names[dir], s.imports[dir] = map[string]bool{}, map[string]string{}
	}
	if name := strings.TrimSuffix(f.Name.Name, "_test"); !slices.Contains(s.packages[name], dir) {
		s.packages[name] = append(s.packages[name], dir)
	}
	for _, imp := range f.Imports {
		pkg := importPath(imp)
		name := f.importName(pkg)
		s.imports[dir][name] = pkg
		s.foreign[name] = s.foreign[name] || !strings.HasPrefix(pkg+"/", module)
	}
	for _, d := range f.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			name := d.Name.Name
			if d.Recv != nil {
				name = receiver(d) + "." + name
			}
			s.names[dir][name] = true
			if testName.re.MatchString(name) {
				s.tests[name] = true
			}
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				switch spec := spec.(type) {
				case *ast.TypeSpec:
					s.names[dir][spec.Name.Name] = true
					s.addMembers(f, spec.Name.Name, spec.Type)
				case *ast.ValueSpec:
					for _, n := range spec.Names {
						s.names[dir][n.Name] = true
					}
				}
			}
		}
	}
}

// addMembers adds the fields and methods in the declaration of a type, and the types whose members
// it has too.
func (s *declared) addMembers(f source, typ string, declaration ast.Expr) {
	dir := f.folder()
	var fields *ast.FieldList
	switch d := declaration.(type) {
	case *ast.StructType:
		fields = d.Fields
	case *ast.InterfaceType:
		fields = d.Methods
	default:
		fields = &ast.FieldList{List: []*ast.Field{{Type: declaration}}}
	}
	for _, field := range fields.List {
		for _, n := range field.Names {
			s.names[dir][typ+"."+n.Name] = true
		}
		if len(field.Names) > 0 {
			continue
		}
		switch parent := named(field.Type).(type) {
		case *ast.Ident:
			s.names[dir][typ+"."+parent.Name] = true
			s.parents[dir+" "+typ] = append(s.parents[dir+" "+typ], dir+" "+parent.Name)
		case *ast.SelectorExpr:
			pkg, _ := parent.X.(*ast.Ident)
			s.names[dir][typ+"."+parent.Sel.Name] = true
			s.parents[dir+" "+typ] = append(s.parents[dir+" "+typ],
				pathOf(s.imports[dir][pkg.Name])+" "+parent.Sel.Name)
		}
	}
}

// named returns the name of a type without pointers and type arguments.
func named(t ast.Expr) ast.Expr {
	for {
		switch x := t.(type) {
		case *ast.StarExpr:
			t = x.X
		case *ast.IndexExpr:
			t = x.X
		case *ast.IndexListExpr:
			t = x.X
		default:
			return t
		}
	}
}

// receiver returns the name of a method's receiver type.
func receiver(d *ast.FuncDecl) string {
	id, _ := named(d.Recv.List[0].Type).(*ast.Ident)
	return id.Name
}

// exists reports whether a file or folder exists, or a file with this name and an extension.
func exists(name string) bool {
	if _, err := os.Stat(name); err == nil {
		return true
	}
	found, err := filepath.Glob(name + ".*")
	return err == nil && len(found) > 0
}
