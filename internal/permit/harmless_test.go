package permit_test

import (
	"strings"
	"testing"

	"github.com/hocket-run/hocket/internal/permit"
)

// TestShell_CommandsOutsideTheTable checks that a command is asked about that may start a program
// that its words do not show.
func TestShell_CommandsOutsideTheTable(t *testing.T) {
	t.Parallel()
	rules := permit.Rules{Deny: []string{"shell:cmd=touch *"}}
	for _, cmd := range []string{
		"trap -- 'touch X' EXIT", "trap 'touch X' EXIT",
		// Long options, abbreviated.
		"git grep --open='touch X' a", "git grep --open-files-in-pager='touch X' a",
		"git rebase --exe 'touch X' HEAD~1",
		"git ls-remote --upload-p='touch X' .", "git clone --conf core.fsmonitor='touch X' . y",
		"git push --receive-p='touch X' .", "git fetch --upload-pac 'touch X' .", "sort --compress-prog=touch -S 1b f",
		"sort --compress-program touch f", "tar --checkpoint-act=exec='touch X' -cf a b",
		"tar --to-comm='touch X' -xf a",
		"rsync --rs='touch X' a b:", "make --ev='a:;touch X'", "go vet --vettool=./touch .",
		"npm test --script-she=touch",
		"cargo run --conf target.x.runner='touch'", "wget --use-askpas=./x h", "grep x | less",
		// Arguments that are known only when it runs.
		"git $(echo -c core.pager='touch X' log)", "A='-c alias.x=!touch'; git $A x", "echo ext::x | xargs git fetch",
		"git \"$@\"", "printf 'a b' | xargs git", "make $X", "sort $X f", "npm $X",
		// Other ways of git and make.
		"git remote-ext a 'touch X'", "git fetch 'ext::touch X'", "make -f - <<E\na:;touch X\nE",
		"echo 'a:;touch X' | make -f -",
		"echo 'a:;touch X' | make --file=-", "make -f /dev/stdin", "make SHELL=./touch", "make CC='touch X'",
		"make VERSION='$(shell touch X)'",
		// Variables that programs read.
		"TAR_OPTIONS=--to-command=touch tar xf a", "PATH=.:$PATH ls", "PATH=. ls", "export PATH=.",
		"PERL5LIB=. perl x.pl",
		"PYTHONPATH=. python3 x.py", "GIT_SSH_COMMAND=./t git fetch", "GIT_EXTERNAL_DIFF=./t git diff",
		"RIPGREP_CONFIG_PATH=f rg x", "SSH_ASKPASS=./t git fetch", "HOME=. git status",
		"GOFLAGS=-toolexec=./t go build",
		"NODE_OPTIONS='-r ./t' node x.js", "npm_config_script_shell=./t npm test", "env TAR_OPTIONS=x tar xf a",
		"export RUSTC_WRAPPER=./t; cargo build", "PATH=.; ls", "declare -x PATH=.", "read PATH; ls",
		"CARGO_TARGET_X_RUNNER=./t cargo test", "LD_PRELOAD=./x ls", "MAKEFLAGS=-f- make", "CC=./t go build",
		// Arithmetic of text.
		"x='a[$(touch X)]'; [[ -v $x ]]", "[[ -v 'a[$(touch X)]' ]]", "x='a[$(tou''ch X)]'; ((x))", "read x; ((x))",
		"x=a; let x+=1", "declare -i x='a[$(tou''ch X)]'", "printf -v 'a[$(tou''ch X)]' x", "read y; echo $((y))",
		"read y; [[ y -eq 1 ]]", "read y; echo ${z:y}", "read y; echo ${z[y]}", "read y; z[y]=1",
		"echo $((HOST_VALUE))",
		"read 'a[$(tou''ch X)]'", "unset \"a[$x]\"", "test -v \"$x\"", "[ -v x[1] ]",
		"for x in a b; do echo $((x)); done",
		"x=1; x+='[$(touc)]'; echo $((x))", "x=1; read x; echo $((x))", "[ $x ]; [ \"$a\" \"$b\" \"$c\" ]",
		// Programs by another path, and shells that read.
		"echo touch X | /proc/self/exe", "echo touch X | sh", "echo touch X | bash -s", "./touch X", "x/ls y",
		"busybox sh",
		"cp /usr/bin/touch ls; ./ls X", "zsh -c 'echo *(e:touch:)'", "fish -c 'touch X'", "sh -ac 'x=1; make'",
		"python3 -c 'import os'", "python3 - <<E\nimport os\nE", "python3 /dev/stdin", "python3", "node -e 1", "node",
		"perl -we 1", "ruby -e 1", "php -r 1", "python3 -m timeit x", "python3 -m pdb x.py", "node --require ./x y.js",
		"awk 'BEGIN { system(\"touch X\") }'", "awk 'BEGIN { print \"x\" | \"touch X\" }'", "awk -f x",
		"gawk '@load \"x\"'", "sed '1e touch X' f", "sed 's/a/touch X/e' f", "sed -f x f", "sed 'w x' f",
		"sed -ne 's/./t/e' f",
		"find . -fprint x -exec sh {} \\;", "find . -name x -exec {} \\;", "find $X", "xargs -I{} {} X", "xargs env",
		"xargs sh", "xargs -a f sh -c", "npx touch X", "npm exec touch X", "go run touch.example/x@latest",
		"uv run touch X",
		"docker run x touch X", "ssh h touch X", "sudo ls", "set -a; X=1", "set -o allexport", "set -k",
		"alias ls='touch X'", "enable -f x y", "hash -p /bin/touch ls; ls X", "function ls { :; }; command docker x",
		"docker() { :; }; env docker x", "(tini() { :; }); tini X", "exec -a ls touch X",
	} {
		if got := decide(t, shell(cmd), rules); got < permit.Ask {
			t.Errorf("%q: %s, want ask at least", cmd, got)
		}
	}
}

// ordinary are commands as they are typed in the work on projects.
const ordinary = `
go build ./...
go build -o bin/app ./cmd/app
go build -race -v ./...
go test ./...
go test -run TestX ./internal/x
go test -race -count=1 -timeout 60s ./...
go test ./... -coverprofile=cover.out
go test -bench . -benchmem ./x
go vet ./...
go mod tidy
go mod download
go list -m all
go list -f '{{.Dir}}' ./...
go get example.com/x@v1.2.3
go run ./cmd/app --port 8080
go run main.go
go generate ./...
go fmt ./...
gofmt -l .
go version
go env GOPATH
go doc fmt.Println
go clean -testcache
go work sync
GOOS=linux GOARCH=arm64 go build ./cmd/app
CGO_ENABLED=0 go test ./...
go tool cover -func=cover.out
go test -json ./... > test.json
golangci-lint run
go install ./cmd/app
npm install
npm ci
npm install --save-dev jest
npm i -D typescript
npm install lodash@4
npm test
npm run build
npm run lint -- --fix
npm run test:unit -- --watch=false
npm start
npm ls --depth=0
npm outdated
npm audit --production
npm view react version
npm uninstall lodash
npm update
npm --version
npm run dev &
npm pack --dry-run
npm version patch
npm --prefix web run build
NODE_ENV=production npm run build
npx tsc --noEmit
npm test -- --coverage
npm cache clean --force
git status
git status --short
git diff
git diff --stat HEAD~1
git diff --cached --name-only
git log --oneline -10
git log -p -- src/main.go
git log --since='2 weeks ago' --author=ann --format='%h %s'
git show HEAD:README.md
git add .
git add -A
git add src/*.go
git commit -m 'fix the parser'
git commit -am "update docs"
git commit --amend --no-edit
git push
git push -u origin main
git push --force-with-lease
git pull --rebase
git fetch --all --prune
git checkout -b feature
git checkout main
git switch -c topic
git branch -a
git branch -d old
git merge --no-ff feature
git rebase main
git stash
git stash pop
git reset --hard HEAD
git restore --staged f.go
git rev-parse --short HEAD
git blame -L 10,20 f.go
git tag -a v1.0 -m 'release'
git clone https://example.com/x.git
git clone --depth 1 git@example.com:x/y.git z
git remote -v
git config user.name "Ann"
git config --get remote.origin.url
git ls-files '*.go'
git grep -n TODO
git cherry-pick abc123
git clean -fd
git -C sub status
git submodule update --init --recursive
git worktree add ../x main
python3 app.py
python3 manage.py migrate
python -m pytest
python -m pytest tests/test_x.py::test_y -v
pytest -x -q
pytest -k 'a and not b' --tb=short
python -m venv .venv
python -m pip install -r requirements.txt
pip install requests
pip install -e .
pip freeze > requirements.txt
pip list --outdated
python -m unittest discover -s tests
python3 --version
python3 -m json.tool data.json
python3 -m http.server 8000
python3 -c "import sys; print(sys.version)"
python setup.py sdist
python -u train.py --epochs 3
python -m black --check .
source .venv/bin/activate
make
make test
make -j4 all
make -C lib clean
make build test
make V=1
make install PREFIX=/usr/local
make -n
make help
make CC=clang
cargo build
cargo build --release
cargo test
cargo test parser::tests -- --nocapture
cargo run -- --help
cargo run --bin tool input.txt
cargo check --all-targets
cargo clippy -- -D warnings
cargo fmt --check
cargo add serde --features derive
cargo update -p serde
cargo doc --no-deps
cargo clean
RUST_BACKTRACE=1 cargo test
cargo tree -d
cargo bench
cargo install ripgrep
ls
ls -la
ls -lh src/
ls *.go
ls -R | head -50
grep -rn 'TODO' src
grep -i error log.txt | tail -20
grep -v '^#' conf | sort | uniq -c
grep -c x f
grep -E 'a|b' *.txt
grep -rl foo . | xargs wc -l
grep -rl foo src | xargs sed -i 's/foo/bar/g'
sed -n '1,20p' f
sed -i 's/old/new/g' f.txt
sed -e 's/a/b/' -e '/^$/d' f
sed 's|/usr|/opt|' f
sed -n '/begin/,/end/p' f
sed -i.bak 's/x\.y/x_y/' f
cat README.md
cat package.json | jq .scripts
head -n 20 f
tail -f log.txt
wc -l *.md
find . -name '*.go'
find . -type f -size +1M
find src -name '*.py' -exec grep -n foo {} +
find . -name '*.pyc' -delete
find . -name node_modules -prune -o -name '*.js' -print
rg -n pattern src
cp a.txt b.txt
cp -r src dst
mv a b
rm -rf build
mkdir -p a/b
chmod +x run.sh
ln -s a b
pwd
cd src && ls
cd web && npm run build
echo hello > out.txt
echo "$HOME"
diff -u a b
sort -u names.txt
sort -k2 -n f | head
cut -d, -f1 f.csv
awk '{print $1}' f
awk -F: '{ sum += $3 } END { print sum }' f
tr a-z A-Z < f
tar czf a.tgz src
tar xzf a.tgz
tar -xzf a.tgz -C /tmp
curl -s https://example.com
curl -sSL -o f https://example.com/f
du -sh .
df -h
ps aux | grep node
kill 1234
which go
date +%F
env
export CI=true
test -f go.mod && echo yes
[ -d .git ] || git init
if [ -f a ]; then cat a; fi
for f in *.md; do wc -l "$f"; done
while read -r line; do echo "$line"; done < f
timeout 60 go test ./...
time make
set -euo pipefail; go test ./...
mkdir -p build && cd build && cmake .. && make
docker ps
sh -c 'go test ./... && echo ok'
./scripts/build.sh
xargs -n1 echo < f
stat f
sleep 1
node index.js
node --version
tsc --noEmit
`

// TestShell_OrdinaryCommands checks that at most one in ten ordinary commands is asked about where
// a rule denies a command that they have nothing to do with.
func TestShell_OrdinaryCommands(t *testing.T) {
	t.Parallel()
	rules := permit.Rules{Deny: []string{"shell:cmd=touch *", "shell:cmd=touch"}}
	lines := strings.Split(strings.TrimSpace(ordinary), "\n")
	var asked []string
	for _, cmd := range lines {
		switch got := decide(t, shell(cmd), rules); got {
		case permit.Deny:
			t.Errorf("%q is denied", cmd)
		case permit.Ask:
			asked = append(asked, cmd)
		}
	}
	t.Logf("%d of %d commands are asked about: %q", len(asked), len(lines), asked)
	if len(lines) < 200 || len(asked)*10 > len(lines) {
		t.Errorf("%d of %d commands are asked about, want at most a tenth of 200 or more", len(asked), len(lines))
	}
}

// TestShell_ExplicitAllow checks that a rule that allows a command outside the table by its words
// lifts the doubt about it, and nothing else.
func TestShell_ExplicitAllow(t *testing.T) {
	t.Parallel()
	rules := permit.Rules{Deny: []string{"shell:cmd=touch *"}, Ask: []string{"shell:cmd=git push*"},
		Allow: []string{"shell", "shell:cmd=docker compose *", `shell:cmd=./x \| cat`}}
	for cmd, want := range map[string]permit.Decision{
		"docker compose up -d": permit.Allow, "cd src && docker compose up": permit.Allow, "./x | cat": permit.Allow,
		"docker compose up; touch X": permit.Deny, "docker compose up; ./y": permit.Ask,
		"docker compose up; git push": permit.Ask, "docker compose $X": permit.Ask, "docker run x": permit.Ask,
		"docker compose run x touch X": permit.Deny, "PATH=. docker compose up": permit.Ask,
		"docker compose 'a;b'": permit.Ask, "docker compose ../x": permit.Ask, "DOCKER compose up": permit.Ask,
		"./x | cat -n": permit.Ask, "ls": permit.Allow,
	} {
		if got := decide(t, shell(cmd), rules); got != want {
			t.Errorf("%q: %s, want %s", cmd, got, want)
		}
	}
	for _, all := range []string{"shell", "shell:cmd=*", "*"} {
		if got := decide(t, shell("docker run x"), permit.Rules{Deny: rules.Deny,
			Allow: []string{all}}); got != permit.Ask {
			t.Errorf("%s: %s, want ask", all, got)
		}
	}
}

// TestUnsure checks that the suggested rules allow exactly the call, and restrict no other.
func TestUnsure(t *testing.T) {
	t.Parallel()
	rules := permit.Rules{Deny: []string{"shell:cmd=touch *"}}
	for _, cmd := range []string{"docker run x", `./a 'b*c' [d] \e`, "a:b=c x:y=z", "./x | cat; $Y", "x\ny ../z",
		"./a:b=c"} {
		p, err := permit.Compile(rules)
		if err != nil {
			t.Fatal(err)
		}
		rule, allow := p.Unsure(shell(cmd))
		if rule != rules.Deny[0] || len(allow) != 2 || allow[0] != "shell" {
			t.Errorf("%q: %q, %q", cmd, rule, allow)
		}
		more := permit.Rules{Deny: rules.Deny, Allow: allow}
		if got := decide(t, shell(cmd), more); got != permit.Allow {
			t.Errorf("%q: %s with %q, want allow", cmd, got, allow)
		}
		if got := decide(t, shell("ls"), more); got != permit.Allow {
			t.Errorf("ls: %s with %q, want allow", got, allow)
		}
		if got := decide(t, shell(cmd+" x"), more); got != permit.Ask {
			t.Errorf("%q: %s with %q, want ask", cmd+" x", got, allow)
		}
	}
	for name, tc := range map[string]struct {
		rules permit.Rules
		cmd   string
	}{
		"allowed": {rules, "ls"}, "denied": {rules, "touch x"},
		"asked about":       {permit.Rules{Ask: []string{"shell"}}, "docker run x"},
		"asked about, too":  {permit.Rules{Ask: []string{"shell"}, Deny: rules.Deny}, "docker run x"},
		"asked for another": {permit.Rules{Default: "ask", Deny: rules.Deny}, "docker run x"},
	} {
		p, err := permit.Compile(tc.rules)
		if err != nil {
			t.Fatal(err)
		}
		if rule, allow := p.Unsure(shell(tc.cmd)); rule != "" || allow != nil {
			t.Errorf("%s: %q, %q, want nothing", name, rule, allow)
		}
	}
}
