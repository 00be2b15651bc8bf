// Package show draws workflows: as a tree for terminals, as Mermaid, DOT and SVG for documents and pages.
//
// It refuses to do I/O, to know document formats, and to run anything; it draws definitions, not runs. What a document says is data: names,
// prompts and conditions come out as text in every form of output, whatever characters they hold (SEC15).
//
// The flow: [newPicture] turns a workflow into boxes, arrows and groups with clean texts; [Mermaid], [DOT] and [SVG] write that picture in their
// language; SVG asks internal/show/layout where everything stands. [Tree] walks the graph itself.
//
// SVG is made here rather than by Graphviz's WebAssembly build: that one costs every process that links it about 100 ms and 16 MB when it
// starts, whether or not anything is drawn.
//
// Invariants: equal workflows give equal bytes; every visible node, agent and sub-agent is in every drawing, reachable or not; nothing is
// drawn twice but as a reference; a workflow with errors is drawn as far as it goes, without a panic.
package show
