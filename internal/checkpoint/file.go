package checkpoint

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync"
)

const (
	fileVersion = 1
	maxHeader   = 16 << 10 // in bytes; fits two names of MaxName with any escapes
)

// Files stores checkpoints in a directory, with one subdirectory per run and one file per state. It
// is safe for concurrent use; only one process at a time may save for a run, just as only one
// drives it.
type Files struct {
	root  *os.Root
	turns [64]sync.Mutex // serialize saves and deletes of a run
}

// OpenFiles opens the directory, and creates it, accessible only to its owner, if it does not
// exist.
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

// Close releases the directory. Every call after it fails with ErrClosed; a second Close does
// nothing.
func (f *Files) Close() error { return f.root.Close() }

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

// folder opens the directory of a run. If it does not exist and create is false, the error is
// fs.ErrNotExist.
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
			continue // saved again or deleted in the meantime
		case err != nil:
			return nil, err
		case label != "" && h.Label != label:
			return nil, &CorruptError{execution, label, "the file holds another label"}
		}
		return state, nil
	}
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

// Delete implements hocket.Checkpointer. It deletes damaged files like any other.
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

// closed converts the error of a closed directory to ErrClosed.
func closed(err error) error {
	if errors.Is(err, fs.ErrClosed) {
		return ErrClosed
	}
	return err
}
