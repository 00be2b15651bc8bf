// Package show draws workflows: as a tree for terminals, and as Mermaid, DOT and SVG for documents
// and web pages.
//
// It does no I/O, does not depend on document formats, and runs nothing; it draws definitions, not
// runs. The contents of a document are data: names, prompts and conditions appear as text in every
// output format, whatever characters they contain (SEC15).
//
// The flow: [newPicture] turns a workflow into boxes, arrows and groups with clean text; [Mermaid],
// [DOT] and [SVG] write that picture in their language; SVG gets all positions from
// internal/show/layout. [Tree] walks the graph itself.
//
// SVG is generated here rather than with Graphviz's WebAssembly build, which costs every process
// that links it about 100 ms and 16 MB at startup, whether or not anything is drawn.
//
// Invariants: equal workflows produce equal bytes; every visible node, agent and sub-agent is in
// every drawing, reachable or not; nothing is drawn twice except as a reference; a workflow with
// errors is drawn as far as possible, without a panic.
package show
