package openaiapi

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/project"
)

// answer is the assistant's answer, in whatever form it is sent.
type answer struct {
	run   string
	model string // as requested
	text  string
	usage usage
	// status is the status of the run; wait is the wait that the answer asks about, or nil.
	status  event.Status
	wait    *project.Waiting
	finish  string
	created time.Time
}

// usage counts tokens as OpenAI does.
type usage struct {
	Prompt     int64 `json:"prompt_tokens"`
	Completion int64 `json:"completion_tokens"`
	Total      int64 `json:"total_tokens"`
}

func usageOf(u project.TotalUsage, before usage) usage {
	in, out := u.InputTokens-before.Prompt, u.OutputTokens-before.Completion
	return usage{in, out, in + out}
}

// extension holds Hocket's additions to OpenAI's fields.
type extension struct {
	Run    string       `json:"run"`
	Status event.Status `json:"status"`
	// Wait is the id of the wait for a person, and Kind is its kind.
	Wait string `json:"wait,omitempty"`
	Kind string `json:"kind,omitempty"`
}

func (a answer) extension() *extension {
	x := &extension{Run: a.run, Status: a.status}
	if a.wait != nil {
		x.Wait, x.Kind = a.wait.ID, a.wait.Kind
	}
	return x
}

// completion is a complete answer, and chunk is a part of one.
type completion struct {
	ID      string     `json:"id"`
	Object  string     `json:"object"`
	Created int64      `json:"created"`
	Model   string     `json:"model"`
	Choices []choice   `json:"choices"`
	Usage   usage      `json:"usage"`
	Hocket  *extension `json:"x_hocket"`
}

type choice struct {
	Index        int           `json:"index"`
	Message      answerMessage `json:"message"`
	Logprobs     *struct{}     `json:"logprobs"`
	FinishReason string        `json:"finish_reason"`
}

type answerMessage struct {
	Role    string  `json:"role"`
	Content string  `json:"content"`
	Refusal *string `json:"refusal"`
}

// The finish reasons, which are words of the run object too: any other end of a run is an error.
const (
	finishStop   = "stop"
	finishLength = "length"
)

// finishOf returns finishLength if the output of a run is an agent's answer that was cut off, else
// finishStop.
func finishOf(o project.Run) string {
	for i := range slices.Backward(o.Steps) {
		if st := &o.Steps[i]; st.StopReason != "" {
			if st.StopReason == finishLength && bytes.Equal(st.Output, o.Output) {
				return finishLength
			}
			break
		}
	}
	return finishStop
}

// completionID derives the id of an answer from the run.
func completionID(run string) string { return "chatcmpl-" + run }

func (a answer) write(w http.ResponseWriter) error {
	return writeJSON(w, completion{
		ID: completionID(a.run), Object: "chat.completion", Created: a.created.Unix(), Model: a.model,
		Choices: []choice{{Message: answerMessage{Role: roleAssistant, Content: a.text}, FinishReason: a.finish}},
		Usage:   a.usage, Hocket: a.extension(),
	})
}

func writeJSON(w http.ResponseWriter, v any) error {
	text, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("write answer: %w", err)
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(append(text, '\n')) // the client may be gone
	return nil
}

type chunk struct {
	ID      string        `json:"id"`
	Object  string        `json:"object"`
	Created int64         `json:"created"`
	Model   string        `json:"model"`
	Choices []chunkChoice `json:"choices"`
	Usage   any           `json:"usage,omitempty"` // *usage, or noUsage in all other chunks of a stream that has it
	Hocket  *extension    `json:"x_hocket,omitempty"`
}

// noUsage is the value that OpenAI writes into the chunks before the one with the usage.
var noUsage = json.RawMessage("null")

type chunkChoice struct {
	Index        int     `json:"index"`
	Delta        delta   `json:"delta"`
	FinishReason *string `json:"finish_reason"`
}

type delta struct {
	Role    string `json:"role,omitempty"`
	Content string `json:"content,omitempty"`
}

// stream sends an answer in chunks. Nothing is sent before the first chunk, so that an early
// failure has its own status. It is not safe for concurrent use.
type stream struct {
	w       http.ResponseWriter
	rc      *http.ResponseController
	timeout time.Duration
	head    chunk // the fields that all chunks share
	begun   bool
}

// errDisconnected is returned when the client has disconnected.
var errDisconnected = errors.New("send a piece of the answer: the client disconnected")

// begin sends the headers and the first chunk, which sets the role.
func (s *stream) begin() error {
	if s.begun {
		return nil
	}
	s.begun = true
	h := s.w.Header()
	h.Set("Content-Type", "text/event-stream; charset=utf-8")
	h.Set("Cache-Control", "no-cache")
	h.Set("X-Accel-Buffering", "no") // otherwise proxies buffer streams
	return s.piece(delta{Role: roleAssistant}, nil, nil)
}

// writeText sends a part of the text.
func (s *stream) writeText(text string) error {
	if text == "" {
		return nil
	}
	if err := s.begin(); err != nil {
		return err
	}
	return s.piece(delta{Content: text}, nil, nil)
}

// heartbeat shows that the stream is alive. It writes a comment without the empty line that ends an
// event, since clients would take that for an event without data.
func (s *stream) heartbeat() error {
	if err := s.begin(); err != nil {
		return err
	}
	return s.send([]byte(": heartbeat\n"))
}

// end sends the end of the answer; text is the part of it that was not sent yet.
func (s *stream) end(a answer, text string, withUsage bool) error {
	if err := s.begin(); err != nil {
		return err
	}
	if err := s.writeText(text); err != nil {
		return err
	}
	if err := s.piece(delta{}, &a.finish, a.extension()); err != nil {
		return err
	}
	if withUsage {
		c := s.head
		c.Choices, c.Usage = []chunkChoice{}, &a.usage
		if err := s.event(c); err != nil {
			return err
		}
	}
	return s.send([]byte("data: [DONE]\n\n"))
}

// fail ends the stream with an error. If the stream has not started, it writes an ordinary error
// response.
func (s *stream) fail(err error) error {
	if !s.begun {
		return err
	}
	return s.send(append(append([]byte("data: "), errorOf(err).body()...), "\n\n"...))
}

func (s *stream) piece(d delta, reason *string, x *extension) error {
	c := s.head
	c.Choices, c.Hocket = []chunkChoice{{Delta: d, FinishReason: reason}}, x
	return s.event(c)
}

func (s *stream) event(c chunk) error {
	text, err := json.Marshal(c)
	if err != nil {
		return fmt.Errorf("write answer: %w", err)
	}
	return s.send(append(append([]byte("data: "), text...), "\n\n"...))
}

func (s *stream) send(text []byte) error {
	_ = s.rc.SetWriteDeadline(time.Now().Add(s.timeout)) // only the writers of tests lack deadlines
	if _, err := s.w.Write(text); err != nil {
		return errDisconnected
	}
	if err := s.rc.Flush(); err != nil {
		return errDisconnected
	}
	return nil
}
