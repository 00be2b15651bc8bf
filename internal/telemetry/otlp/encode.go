package otlp

import (
	"encoding/binary"
	"maps"
	"math"
	"slices"
	"time"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/hocket-run/hocket/internal/telemetry"
)

// scope is the name of the instrumentation scope.
const scope = "github.com/hocket-run/hocket"

// writer appends fields of protocol buffers messages. Field numbers are those of
// opentelemetry-proto 1.x; fields with their zero value are omitted.
type writer []byte

func (w *writer) bytes(field protowire.Number, b []byte) {
	*w = protowire.AppendBytes(protowire.AppendTag(*w, field, protowire.BytesType), b)
}

func (w *writer) text(field protowire.Number, s string) {
	if s != "" {
		*w = protowire.AppendString(protowire.AppendTag(*w, field, protowire.BytesType), s)
	}
}

func (w *writer) number(field protowire.Number, n uint64) {
	if n != 0 {
		*w = protowire.AppendVarint(protowire.AppendTag(*w, field, protowire.VarintType), n)
	}
}

func (w *writer) fixed(field protowire.Number, n uint64) {
	*w = protowire.AppendFixed64(protowire.AppendTag(*w, field, protowire.Fixed64Type), n)
}

func (w *writer) double(field protowire.Number, f float64) { w.fixed(field, math.Float64bits(f)) }

func (w *writer) time(field protowire.Number, t time.Time) {
	w.fixed(field, uint64(t.UnixNano()))
}

// message writes the output of fill as one field.
func (w *writer) message(field protowire.Number, fill func(*writer)) {
	var inner writer
	fill(&inner)
	w.bytes(field, inner)
}

func (w *writer) attrs(field protowire.Number, list []telemetry.Attr) {
	for _, a := range list {
		w.message(field, func(w *writer) {
			w.text(1, a.Key)
			w.message(2, func(w *writer) { w.value(a.Value) })
		})
	}
}

// value writes an AnyValue, whose fields are written even if they are zero.
func (w *writer) value(v any) {
	switch v := v.(type) {
	case string:
		w.bytes(1, []byte(v))
	case bool:
		*w = protowire.AppendVarint(protowire.AppendTag(*w, 2, protowire.VarintType), protowire.EncodeBool(v))
	case int64:
		*w = protowire.AppendVarint(protowire.AppendTag(*w, 3, protowire.VarintType), uint64(v))
	case float64:
		w.double(4, v)
	case []string:
		w.message(5, func(w *writer) {
			for _, s := range v {
				w.message(1, func(w *writer) { w.value(s) })
			}
		})
	}
}

// resource writes the resource: the service, its version and the configured attributes.
func (c *Config) resource(w *writer) {
	attrs := []telemetry.Attr{{Key: "service.name", Value: c.Service}}
	if c.Version != "" {
		attrs = append(attrs, telemetry.Attr{Key: "service.version", Value: c.Version})
	}
	for _, k := range slices.Sorted(maps.Keys(c.Resource)) {
		attrs = append(attrs, telemetry.Attr{Key: k, Value: c.Resource[k]})
	}
	w.message(1, func(w *writer) { w.attrs(1, attrs) })
}

func (c *Config) scope(w *writer) {
	w.message(1, func(w *writer) {
		w.text(1, scope)
		w.text(2, c.Version)
	})
}

// encodeSpans writes an ExportTraceServiceRequest.
func (c *Config) encodeSpans(spans []telemetry.Span) []byte {
	var w writer
	w.message(1, func(w *writer) {
		c.resource(w)
		w.message(2, func(w *writer) {
			c.scope(w)
			for i := range spans {
				w.message(2, func(w *writer) { span(w, &spans[i]) })
			}
		})
	})
	return w
}

func span(w *writer, s *telemetry.Span) {
	w.bytes(1, s.Trace[:])
	w.bytes(2, s.ID[:])
	w.text(3, s.State)
	if s.Parent != (telemetry.SpanID{}) {
		w.bytes(4, s.Parent[:])
	}
	w.text(5, s.Name)
	w.number(6, uint64(s.Kind))
	w.time(7, s.Start)
	w.time(8, s.End)
	w.attrs(9, s.Attrs)
	for _, m := range s.Events {
		w.message(11, func(w *writer) {
			w.time(1, m.At)
			w.text(2, m.Name)
			w.attrs(3, m.Attrs)
		})
	}
	w.number(12, uint64(s.Dropped))
	for _, l := range s.Links {
		w.message(13, func(w *writer) {
			w.bytes(1, l.Trace[:])
			w.bytes(2, l.ID[:])
		})
	}
	if s.Failed {
		w.message(15, func(w *writer) {
			w.text(2, s.Message)
			w.number(3, 2)
		})
	}
	*w = binary.LittleEndian.AppendUint32(protowire.AppendTag(*w, 16, protowire.Fixed32Type), flags(s))
}

// flags returns SpanFlags: the W3C flags of the span, and whether its parent is remote.
func flags(s *telemetry.Span) uint32 {
	const (
		sampled         = 0x001
		knowsRemoteness = 0x100
		isRemote        = 0x200
	)
	if s.Remote {
		return sampled | knowsRemoteness | isRemote
	}
	return sampled | knowsRemoteness
}

// encodeMetrics writes an ExportMetricsServiceRequest.
func (c *Config) encodeMetrics(metrics []telemetry.Metric) []byte {
	var w writer
	w.message(1, func(w *writer) {
		c.resource(w)
		w.message(2, func(w *writer) {
			c.scope(w)
			for i := range metrics {
				w.message(2, func(w *writer) { metric(w, &metrics[i]) })
			}
		})
	})
	return w
}

// cumulative is the temporality of points that count from the start of the process.
const cumulative = 2

func metric(w *writer, m *telemetry.Metric) {
	w.text(1, m.Name)
	w.text(2, m.Description)
	w.text(3, m.Unit)
	if m.Kind == telemetry.KindHistogram {
		w.message(9, func(w *writer) {
			for i := range m.Points {
				w.message(1, func(w *writer) { histogram(w, m.Bounds, &m.Points[i]) })
			}
			w.number(2, cumulative)
		})
		return
	}
	w.message(7, func(w *writer) {
		for _, p := range m.Points {
			w.message(1, func(w *writer) {
				w.time(2, p.Start)
				w.time(3, p.At)
				w.fixed(6, uint64(p.Value))
				w.attrs(7, p.Attrs)
			})
		}
		w.number(2, cumulative)
		if m.Kind == telemetry.KindCounter {
			w.number(3, 1)
		}
	})
}

func histogram(w *writer, bounds []float64, p *telemetry.Point) {
	w.time(2, p.Start)
	w.time(3, p.At)
	w.fixed(4, p.Count)
	w.double(5, p.Sum)
	var packed []byte
	for _, n := range p.Buckets {
		packed = protowire.AppendFixed64(packed, n)
	}
	w.bytes(6, packed)
	packed = nil
	for _, b := range bounds {
		packed = protowire.AppendFixed64(packed, math.Float64bits(b))
	}
	w.bytes(7, packed)
	w.attrs(9, p.Attrs)
	w.double(11, p.Min)
	w.double(12, p.Max)
}
