package conformance_test

// The second reading of the extensions, in the files twin_*_test.go, is written from docs/spec/extensions.md: twin_draw draws documents and twin_text writes them, twin_run and twin_scopes interpret
// them, twin_value evaluates their expressions, twin_extensions compares. What the rules leave open is not drawn, or is as follows:
//
//   - sleeps are no part of a block's output, and steps without an agent have the agent "" there;
//   - `items_failed` names the node of the first item that failed, a failed child run has the code `tool`;
//   - a tool that may be called again is called once more where no answer came (docs/tools.md);
//   - no two branches or items end at the same moment: which of them would be first is not said.
