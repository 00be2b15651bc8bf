package checkpoint

import (
	"bufio"
	"bytes"
	"cmp"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"regexp"
	"runtime"
	"slices"
	"strconv"
)

// header is the first line of a file; the state follows as it was saved.
type header struct {
	Hocket    string `json:"hocket"` // "checkpoint"
	Version   int    `json:"version"`
	Execution string `json:"execution"`
	Label     string `json:"label"`
	SHA256    string `json:"sha256"` // of the state
}

// file is one checkpoint, identified by its file name, which sorts by age.
type file struct {
	name   string
	number uint64
	hash   string // of the label
}

var names = regexp.MustCompile(`^([0-9]{16})-([0-9a-f]{32})\.checkpoint$`)

func hashOf(name string) string {
	sum := sha256.Sum256([]byte(name))
	return hex.EncodeToString(sum[:16])
}

func nameOf(number uint64, hash string) string {
	return fmt.Sprintf("%016d-%s.checkpoint", number, hash)
}

// files returns the checkpoints of a run, oldest first, one per label; it ignores other files.
func files(dir *os.Root) ([]file, error) {
	d, err := dir.Open(".")
	if err != nil {
		return nil, err
	}
	defer func() { _ = d.Close() }()
	entries, err := d.Readdirnames(-1)
	if err != nil {
		return nil, err
	}
	var out []file
	for _, name := range entries {
		if m := names.FindStringSubmatch(name); m != nil {
			if n, err := strconv.ParseUint(m[1], 10, 64); err == nil {
				out = append(out, file{name, n, m[2]})
			}
		}
	}
	slices.SortFunc(out, func(a, b file) int {
		return cmp.Or(cmp.Compare(a.number, b.number), cmp.Compare(a.hash, b.hash))
	})
	return out, nil
}

// newest removes the former states of labels that were saved again, which remain if a process died
// before it deleted them.
func newest(list []file) []file {
	seen := map[string]bool{}
	var out []file
	for _, f := range slices.Backward(list) {
		if !seen[f.hash] {
			seen[f.hash] = true
			out = append(out, f)
		}
	}
	slices.Reverse(out)
	return out
}

// write writes a file that is either complete or absent.
func write(dir *os.Root, name, execution, label string, state []byte) (err error) {
	sum := sha256.Sum256(state)
	head, err := json.Marshal(header{"checkpoint", fileVersion, execution, label, hex.EncodeToString(sum[:])})
	if err != nil {
		return err
	}
	beside := "." + rand.Text()
	w, err := dir.OpenFile(beside, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = dir.Remove(beside)
		}
	}()
	_, err = w.Write(slices.Concat(head, []byte("\n"), state))
	if err == nil {
		err = w.Sync()
	}
	if err = errors.Join(err, w.Close()); err != nil {
		return err
	}
	if err := dir.Rename(beside, name); err != nil {
		return err
	}
	return syncFolder(dir)
}

// syncFolder makes names in a directory durable. Windows does that by itself and does not support
// the call.
func syncFolder(dir *os.Root) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	d, err := dir.Open(".")
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// read returns a file's header, and the state if whole is set, both verified.
func read(dir *os.Root, at file, execution string, whole bool) (h header, state []byte, err error) {
	damaged := func(reason string) (header, []byte, error) {
		return header{}, nil, &CorruptError{execution, h.Label, reason + " (file " + dir.Name() +
			string(os.PathSeparator) + at.name + ")"}
	}
	r, err := dir.Open(at.name)
	if err != nil {
		return h, nil, err
	}
	defer func() { _ = r.Close() }()
	in := bufio.NewReaderSize(r, maxHeader)
	line, err := in.ReadSlice('\n')
	if err != nil {
		if errors.Is(err, io.EOF) || errors.Is(err, bufio.ErrBufferFull) {
			return damaged("it has no header")
		}
		return h, nil, err
	}
	if err := json.Unmarshal(bytes.TrimSuffix(line, []byte("\n")), &h); err != nil || h.Hocket != "checkpoint" {
		return damaged("it has no header")
	}
	if h.Version != fileVersion {
		return header{}, nil, fmt.Errorf("file %s has format version %d, this program reads %d", at.name, h.Version,
			fileVersion)
	}
	if h.Execution != execution || hashOf(h.Label) != at.hash {
		return damaged("its header does not match its name")
	}
	if !whole {
		return h, nil, nil
	}
	state, err = io.ReadAll(in)
	if err != nil {
		return h, nil, err
	}
	if sum := sha256.Sum256(state); hex.EncodeToString(sum[:]) != h.SHA256 {
		return damaged("the state differs from the saved digest")
	}
	return h, state, nil
}

func readLabels(dir *os.Root, list []file, execution string) ([]string, error) {
	out := []string{}
	for _, at := range newest(list) {
		h, _, err := read(dir, at, execution, false)
		switch {
		case err == nil:
			out = append(out, h.Label)
		case !errors.Is(err, fs.ErrNotExist): // otherwise saved again or deleted in the meantime
			return nil, err
		}
	}
	return out, nil
}
