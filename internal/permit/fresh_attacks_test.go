package permit_test

import (
	"testing"

	"github.com/hocket-run/hocket/internal/permit"
)

// TestShell_FreshAttacks tries to run touch without being asked. They were thought of without
// looking at how commands are judged.
func TestShell_FreshAttacks(t *testing.T) {
	t.Parallel()
	rules := permit.Rules{Deny: []string{"shell:cmd=touch *", "shell:cmd=touch"}}
	for _, cmd := range []string{
		`t=touch; "$t" X`, `${0/*/touch} X`, `printf 'touch X' | bash /dev/stdin`, `exec 3<<<'touch X'; bash <&3`,
		`bash -c "$(printf 'tou%s X' ch)"`, `bash <(echo touch X)`, `BASH_ENV=<(echo touch X) bash -c :`,
		`PROMPT_COMMAND='touch X' bash -i`, `ls() { touch X; }; ls`, `cd() { "$@"; }; cd touch X`,
		`echo | awk '{ "touch X" | getline }'`, `awk 'BEGIN{ s="sys" "tem"; @s("touch X") }'`,
		`awk -v c='touch X' 'BEGIN { print | c }'`, `awk 'BEGIN { while ((c | getline l) > 0) print l }' c='touch X'`,
		`sed -n '1{e touch X` + "\n" + `}' f`, `sed 's/.*/touch X/;e' f`, `sed -e 's/a/b/w /dev/stdout' -e '1e touch X' f`,
		`sed --expression='1e touch X' f`, `sed 's,x,touch X,ge' f`, `sed "s/x/$y/e" f`,
		`find . -name x -ok touch X ';'`, `find . -exec sh -c 'to''uch X' ';'`, `find . -type f -exec env touch {} +`,
		`find -files0-from - -exec touch X ';'`, `find . -name '*' -execdir ./run {} ';'`,
		`xargs -I% bash -c % <<<'touch X'`, `echo touch X | xargs -d' ' env`, `xargs --arg-file=f sh -c`,
		`xargs -P4 -n1 make -f`, `echo X | xargs touch`,
		`git -c core.sshCommand='touch X' fetch`, `git -c 'alias.z=!touch X' z`, `git config core.hooksPath ./h`,
		`git config --add alias.z '!touch X'`, `git --exec-path=. status`, `git -p log`, `git log --output=.git/hooks/x --ext-diff`,
		`git archive --remote=ext::touch HEAD`, `git clone --template=./t https://x/y`, `git clone -c core.pager=touch x y`,
		`git clone ssh://-oProxyCommand=touch/x`, `git bisect run touch X`, `git submodule foreach touch X`,
		`git submodule update --init --recursive --checkou`, `git diff --ext-diff`, `git rebase -i --exec 'touch X' HEAD~2`,
		`git filter-branch --tree-filter 'touch X'`, `git send-email --smtp-server=./t x`, `git difftool -x touch`,
		`git merge -s ./touch x`, `git push --exec=touch x`, `git commit -m x --gpg-sign --config x`, `git help -m x`,
		`git grep -O'touch X' a`, `git stash -- "$(touch X)"`,
		`make -C . -f x`, `make MAKEFLAGS=--eval=x`, `make -E 'x'`, `make --makefile=x`, `make .SHELLFLAGS=x`, `make 'x:=$(shell touch X)'`,
		`make V='` + "`touch X`" + `'`, `make -j4 SHELL=touch`, `cmake -P x.cmake`, `cmake -E env touch X`, `cmake -DCMAKE_C_COMPILER=touch .`,
		`cmake --build . -- SHELL=touch`, `cmake -E touch X`,
		`go run -exec touch .`, `go test -exec=touch ./...`, `go build -toolexec touch .`, `go vet -vettool=touch .`,
		`go env -w CC=touch`, `go tool touch`, `go build -ldflags '-extld=touch' .`, `go test -exec touch -run X .`,
		`go generate -run X && GOFLAGS=-exec=touch go test`, `go get -modfile=x .`, `go build -overlay=x .`, `go -C x tool y`,
		`npm config set script-shell touch`, `npm --script-shell=touch test`, `npm run x --script-shell touch`,
		`npm exec -- touch X`, `npm x touch`, `npm explore x -- touch X`, `npm init touch`, `npm test --node-options='-r ./x'`,
		`npm install --git=./touch x`, `npm edit x`, `yarn touch X`, `yarn run --script-shell touch`, `yarn dlx touch`,
		`pnpm exec touch X`, `pnpm --script-shell=touch test`, `pnpm dlx touch`, `corepack touch`,
		`cargo --config 'build.rustc="touch"' build`, `cargo build --config x`, `cargo touch X`, `cargo +x touch`,
		`cargo rustc -- -C linker=touch`, `cargo test --config=x -- y`, `cargo -Zunstable touch`, `cargo clippy -- -C linker=touch`,
		`python -m runpy touch`, `python3 -c"import os"`, `python3 -Ic 1`, `python3 -ic 1`, `python -m cProfile x`,
		`python - x.py`, `python3 <<<1`, `python /dev/fd/3 3<<<x`, `python3 -Wignore -c 1`, `python3 -m pip --python=./x install y`,
		`pip install --global-option=x y`, `pip install git+ext::touch`, `pip --python ./touch install x`, `pip install -C x y`,
		`pytest -p touch`, `pytest --pdbcls=x:y`, `pytest -c x.ini`, `pytest -o addopts=x`, `pytest --rootdir=x --pyargs -W x`,
		`node -p 1`, `node --eval=1`, `node -pe 1`, `node -r ./x y.js`, `node --import ./x y.js`, `node -`, `node inspect x`,
		`tar -cf x --use-compress-program=touch y`, `tar xf a -Itouch`, `tar cf a b --to-command touch`, `tar --rsh-command=touch -cf h:x y`,
		`tar -F touch -cf a b`, `tar cf h:x y`, `tar xf a --checkpoint=1 --checkpoint-action exec=touch`, `tar -xvIf touch a`,
		`zip -T -TT touch a b`, `zip a b -TT touch`, `sort --compress-program=touch -o f f`, `sort --compress-p=touch f`,
		`split --filter='touch X' f`, `split --filt='touch X' f`, `rg --pre touch x`, `rg --hostname-bin=touch x`, `rg --pre=touch x`,
		`curl -K x`, `wget --execute use_askpass=touch x`, `wget -e use_askpass=touch x`, `wget --use-askpass=touch x`,
		`nice -n 5 env X=1 touch X`, `timeout -s KILL 5 touch X`, `timeout 5 "$@"`, `nohup $SHELL -c x`, `setsid --fork sh x`,
		`stdbuf -oL ./x`, `time -f %e -o x ./y`, `command -p ./touch X`, `command -- touch X`, `exec touch X`, `exec -c touch X`,
		`env -S'touch X'`, `env --split-string 'touch X'`, `env -C x ./y`, `env - touch X`, `env LD_PRELOAD=x ls`, `env -i PATH=. ls`,
		`export LD_PRELOAD=./x; ls`, `declare -x LD_PRELOAD=x; ls`, `typeset -x BASH_ENV=x; bash -c :`, `readonly PATH=.; ls`,
		`local PATH=.; ls`, `read -r PATH < f; ls`, `for PATH in .; do ls; done`, `printf -v PATH .; ls`, `: ${PATH:=.}; ls`,
		`PATH+=:.; foo`, `: $((PATH=1)); x`, `getopts PATH: x; ls`, `mapfile -t PATH < f; ls`, `unset PATH; ls`, `unset -f ls; ls`,
		`set -- touch X; "$@"`, `set -- touch X; $1 $2`, `set -o posix; touch() { :; }; touch X`, `shopt -s expand_aliases`,
		`trap 'to""uch X' ERR; false`, `trap -p; trap "touch X" 0`, `trap touch\ X DEBUG; :`, `trap "$x" EXIT`,
		`complete -C 'touch X' ls`, `bind -x '"a":touch X'`, `enable -n test`, `builtin eval touch X`, `eval "tou"ch X`,
		`. /dev/stdin <<<'touch X'`, `source <(echo touch X)`, `history -s touch X; fc -s`, `coproc touch X`,
		`echo $((a[$(touch X)]))`, `a=(x); echo ${a[$y]}`, `[[ $x -gt 0 ]]`, `test "$x" -v "$y"`, `[ -n x -a -v 'a[$(touch X)]' ]`,
		`echo ${x@P}`, `echo ${!x}`, `echo ${x:$y}`, `let "x=$y"`, `((x=$y))`, `for ((i=x;;)); do :; done`, `select x in touch; do $x X; done`,
		`case x in *) touch X;; esac`, `if touch X; then :; fi`, `while touch X; do break; done`, `! touch X`, `{ touch X; }`, `(touch X)`,
		`echo X >$(touch X)`, `cat <<E` + "\n$(touch X)\nE", `ls & touch X`, `ls |& touch X`, `a=$(touch X)`, `: "${a:=$(touch X)}"`,
		`/usr/bin/t??ch X`, `/usr/bin/[t]ouch X`, `$'\x74ouch' X`, `t\ouch X`, `"tou"'ch' X`, `{touch,X}`, `t{ouch,} X`, `~/../../usr/bin/touch X`,
		`./ls X`, `../bin/touch X`, `bin/ls X`, `/tmp/ls X`, `/usr/bin/../../tmp/ls X`, `/proc/self/exe X`, `/proc/self/fd/3`, `/bin/../tmp/git status`,
		`busybox touch X`, `toybox touch X`, `perl -e 1`, `perl x`, `perl -MO x.pl`, `ruby -rx y.rb`, `php -f x`, `lua x.lua`, `vim -c '!touch X'`,
		`ed x`, `man -P touch ls`, `less x`, `ssh h touch X`, `docker exec x touch X`, `kubectl exec x -- touch X`, `at now <<<'touch X'`,
		`crontab x`, `systemd-run touch X`, `script -c 'touch X'`, `expect -c x`, `gdb -ex x`, `strace touch X`, `socat - EXEC:touch`,
		`install -D /usr/bin/touch ls`, `jq -n '@sh'; ./x`, `file -m x; ./y`, `tee x; sh x`, `dd of=x; . x`, `cp x y; ./y`,
		`uv run touch X`, `uvx touch`, `poetry run touch X`, `bundle exec touch X`, `just touch`, `nix run x`, `direnv exec . touch X`,
		`docker --context x run y`, `docker ps; docker run x`, `apt-get -o Dpkg::Pre-Invoke::=touch update`, `apt-get install -o x y`,
		// Found by reading the judgement.
		`find . -exec env -u + ./x ';'`, `printf 'a;touch X' | xargs -0I% sh -c 'echo %'`, `tar cIf touch x f`, `tar xfF x touch`,
		`make VERSION='1; ./x' build`, `make 'a;./x'`, `go run cmd/go env -w CC=./x`, `python -um idlelib.run`, `python -Im pip.__main__ x`,
		`for PATH in .; do ls; done`, `: ${PATH=.}`, `exec {PATH}>x; ls`, `echo $((PATH=1))`, `((HOME=1))`, `git log --format=$x`,
		`tini() { :; }; command unset tini; tini X`, `eval() { :; }; eval "$x"`, `sort --key=$x f`, `x=-c; cargo build --features=$x`,
		`golangci-lint custom`, `golangci-lint run --config x`, `ninja -f x`, `tsc --plugins x`, `rustc --edition=x y.rs -Clinker=touch`,
	} {
		if got := decide(t, shell(cmd), rules); got < permit.Ask {
			t.Errorf("%q: %s, want ask at least", cmd, got)
		}
	}
}
