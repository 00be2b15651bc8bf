package conformance_test

// The second implementation of the extensions, in the files twin_*_test.go, is written from
// docs/spec/extensions.md: twin_draw generates documents and twin_text writes them, twin_run and
// twin_scopes interpret them, twin_value evaluates their expressions, and twin_extensions compares
// the results. Behavior that the rules leave open is either not generated or defined as follows:
//
//   - sleeps are not part of a block's output, and steps without an agent have the agent "" there;
//   - `items_failed` names the node of the first item that failed; a failed child run has the code
//     `tool`;
//   - a tool that may be called again is called once more if no answer arrived (docs/tools.md);
//   - no two branches or items end at the same moment: the rules do not say which would be first.
