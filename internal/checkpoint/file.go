package checkpoint

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
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
	"sync"
)

const (
	fileVersion = 1
	maxHeader   = 16 << 10 // bytes; two names of MaxName fit, whatever is escaped
)

// Files keeps checkpoints in a folder: one folder for each run in it, one file for each state. Safe for concurrent use; of several processes, one at a
// time may save for a run, as one at a time drives it.
type Files struct {
	root  *os.Root
	turns [64]sync.Mutex // saves and deletes of one run take turns
}

// OpenFiles opens the folder and makes it, for its owner alone, where there is none.
func OpenFiles(folder string) (*Files, error) {
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return nil, fmt.Errorf("open checkpoints: %w", err)
	}
	root, err := os.OpenRoot(folder)
	if err != nil {
		return nil, fmt.Errorf("open checkpoints: %w", err)
	}
	return &Files{root: root}, nil
}

// Close frees the folder. Every call after it fails with ErrClosed; a second Close does nothing.
func (f *Files) Close() error { return f.root.Close() }

// header is the first line of a file; the state follows as it was saved.
type header struct {
	Hocket    string `json:"hocket"` // "checkpoint"
	Version   int    `json:"version"`
	Execution string `json:"execution"`
	Label     string `json:"label"`
	SHA256    string `json:"sha256"` // of the state
}

// file is one checkpoint by its name, which sorts by age.
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

func (f *Files) turn(execution string) *sync.Mutex {
	return &f.turns[sha256.Sum256([]byte(execution))[0]%64]
}

// Save implements hocket.Checkpointer. The state is on disk when it returns.
func (f *Files) Save(ctx context.Context, execution string, state json.RawMessage, label string) error {
	err := Check(execution, label, state)
	if err == nil {
		err = ctx.Err()
	}
	if err == nil {
		err = f.save(execution, state, label)
	}
	if err != nil {
		return fmt.Errorf("save checkpoint: %w", closed(err))
	}
	return nil
}

func (f *Files) save(execution string, state []byte, label string) error {
	turn := f.turn(execution)
	turn.Lock()
	defer turn.Unlock()
	dir, err := f.folder(execution, true)
	if err != nil {
		return err
	}
	defer func() { _ = dir.Close() }()
	list, err := files(dir)
	if err != nil {
		return err
	}
	if label == "" {
		labels, err := readLabels(dir, list, execution)
		if err != nil {
			return err
		}
		label = Name(labels)
	}
	next := file{number: 1, hash: hashOf(label)}
	if len(list) > 0 {
		next.number = list[len(list)-1].number + 1
	}
	if err := write(dir, nameOf(next.number, next.hash), execution, label, state); err != nil {
		return err
	}
	for _, old := range list {
		if old.hash == next.hash {
			if err := dir.Remove(old.name); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
		}
	}
	return nil
}

// folder opens the folder of a run. Where there is none and none is to be created, the error is fs.ErrNotExist.
func (f *Files) folder(execution string, create bool) (*os.Root, error) {
	name := hashOf(execution)
	if create {
		switch err := f.root.Mkdir(name, 0o700); {
		case err == nil:
			if err := syncFolder(f.root); err != nil {
				return nil, err
			}
		case !errors.Is(err, fs.ErrExist):
			return nil, err
		}
	}
	return f.root.OpenRoot(name)
}

// files gives the checkpoints of a run, oldest first, one for each label; other files are not looked at.
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
	slices.SortFunc(out, func(a, b file) int { return cmp.Or(cmp.Compare(a.number, b.number), cmp.Compare(a.hash, b.hash)) })
	return out, nil
}

// newest leaves out what a process that died did not remove: former states of labels that were saved again.
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

// write makes a file that is whole or not there.
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

// syncFolder makes names in a folder durable. Windows does so by itself and refuses to be asked.
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

// Load implements hocket.Checkpointer.
func (f *Files) Load(ctx context.Context, execution, label string) (json.RawMessage, error) {
	state, err := f.load(ctx, execution, label)
	if err != nil {
		return nil, fmt.Errorf("load checkpoint: %w", closed(err))
	}
	return state, nil
}

func (f *Files) load(ctx context.Context, execution, label string) ([]byte, error) {
	if err := CheckNames(execution, label); err != nil {
		return nil, err
	}
	dir, err := f.folder(execution, false)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, ErrNone
	}
	if err != nil {
		return nil, err
	}
	defer func() { _ = dir.Close() }()
	for {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		list, err := files(dir)
		if err != nil {
			return nil, err
		}
		at := len(list) - 1
		for label != "" && at >= 0 && list[at].hash != hashOf(label) {
			at--
		}
		if at < 0 {
			return nil, ErrNone
		}
		h, state, err := read(dir, list[at], execution, true)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			continue // saved again or deleted meanwhile
		case err != nil:
			return nil, err
		case label != "" && h.Label != label:
			return nil, &CorruptError{execution, label, "the file holds another label"}
		}
		return state, nil
	}
}

// read gives a file's header, and the state where it is asked for, both checked.
func read(dir *os.Root, at file, execution string, whole bool) (h header, state []byte, err error) {
	damaged := func(reason string) (header, []byte, error) {
		return header{}, nil, &CorruptError{execution, h.Label, reason + " (file " + dir.Name() + string(os.PathSeparator) + at.name + ")"}
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
		return header{}, nil, fmt.Errorf("file %s has format version %d, this program reads %d", at.name, h.Version, fileVersion)
	}
	if h.Execution != execution || hashOf(h.Label) != at.hash {
		return damaged("its header is not that of its name")
	}
	if !whole {
		return h, nil, nil
	}
	state, err = io.ReadAll(in)
	if err != nil {
		return h, nil, err
	}
	if sum := sha256.Sum256(state); hex.EncodeToString(sum[:]) != h.SHA256 {
		return damaged("the state is not the one that was saved")
	}
	return h, state, nil
}

// List implements hocket.Checkpointer. It reads the first line of each file.
func (f *Files) List(ctx context.Context, execution string) ([]string, error) {
	out, err := f.list(ctx, execution)
	if err != nil {
		return nil, fmt.Errorf("list checkpoints: %w", closed(err))
	}
	return out, nil
}

func (f *Files) list(ctx context.Context, execution string) ([]string, error) {
	err := CheckNames(execution, "")
	if err == nil {
		err = ctx.Err()
	}
	if err != nil {
		return nil, err
	}
	dir, err := f.folder(execution, false)
	if errors.Is(err, fs.ErrNotExist) {
		return []string{}, nil
	}
	if err != nil {
		return nil, err
	}
	defer func() { _ = dir.Close() }()
	list, err := files(dir)
	if err != nil {
		return nil, err
	}
	return readLabels(dir, list, execution)
}

func readLabels(dir *os.Root, list []file, execution string) ([]string, error) {
	out := []string{}
	for _, at := range newest(list) {
		h, _, err := read(dir, at, execution, false)
		switch {
		case err == nil:
			out = append(out, h.Label)
		case !errors.Is(err, fs.ErrNotExist): // else it was saved again or deleted meanwhile
			return nil, err
		}
	}
	return out, nil
}

// Delete implements hocket.Checkpointer. A damaged file goes like any other.
func (f *Files) Delete(ctx context.Context, execution, label string) error {
	err := CheckNames(execution, label)
	if err == nil {
		err = ctx.Err()
	}
	if err == nil {
		err = f.remove(execution, label)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("delete checkpoint: %w", closed(err))
	}
	return nil
}

func (f *Files) remove(execution, label string) error {
	turn := f.turn(execution)
	turn.Lock()
	defer turn.Unlock()
	if label == "" {
		if err := f.root.RemoveAll(hashOf(execution)); err != nil {
			return err
		}
		return syncFolder(f.root)
	}
	dir, err := f.folder(execution, false)
	if err != nil {
		return err
	}
	defer func() { _ = dir.Close() }()
	list, err := files(dir)
	if err != nil {
		return err
	}
	for _, at := range list {
		if at.hash == hashOf(label) {
			if err := dir.Remove(at.name); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
		}
	}
	return syncFolder(dir)
}

// closed gives the error of a closed folder its name.
func closed(err error) error {
	if errors.Is(err, fs.ErrClosed) {
		return ErrClosed
	}
	return err
}
