// Package modeltest provides test support: a fake model server that speaks the three protocols, and
// the suite that every model.Client passes.
//
// [Server] serves Chat Completions, Anthropic's Messages and Gemini's streamGenerateContent with
// one function of the test, streamed or whole, with faults if the test requests them. It keeps
// every request, counts calls and tokens, and knows how many were in flight at once, so that a test
// can compare them with a journal (D8, P14, P20, P31). It is an http.Handler: a test that starts
// other processes can serve it anywhere and may read its counts at /__calls.
//
// [Run] is the conformance suite. Its scenarios are distinguished by the user's prompt, and
// [Conformance] is the function that replies to them; whatever is behind the client under test (a
// Server, a reply script, another fake) must reply the same.
//
// Only tests may import it.
package modeltest
