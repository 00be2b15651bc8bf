import {ApiError, ask, client, type Schemas} from '../api/client.ts'

export type Mark = Schemas['Mark']
export type Drawing = Schemas['Graph']
export type Branch = Schemas['BranchFact']

// Problem is an error or a warning in a document, with its position. from and to are UTF-16 offsets
// of the text that was checked; null means that it has no position in the text.
export type Problem = {
  code: string
  severity: 'error' | 'warning' | 'info'
  message: string
  hint: string
  path: string
  file: string
  // node is the id of the innermost node with the problem; '' means none. branch is the branch of
  // the node; '' is the main graph.
  node: string
  branch: string
  at: {from: number; to: number; line: number} | null
}

// Check is the server's analysis of a text, as far as it understood it. text and branch are those
// that were checked.
export type Check = {
  text: string
  branch: string
  ok: boolean
  format: string
  problems: Problem[]
  drawing: Drawing | null
  branches: Branch[]
  inputs: unknown
}

export const problemOf = (d: Mark): Problem => ({
  code: d.code,
  severity: d.severity,
  message: d.message,
  hint: d.hint,
  path: d.path,
  file: d.file,
  node: d.node ?? '',
  branch: d.branch ?? '',
  at: d.span && {
    from: d.span.start.offset,
    to: Math.max(d.span.start.offset, d.span.end.offset),
    line: d.span.start.line,
  },
})

// checkText asks the server to check a text. branch is the branch that is drawn; '' is the main
// graph.
export async function checkText(text: string, branch: string, signal: AbortSignal): Promise<Check> {
  const got = await ask(
    client.POST('/api/v1/documents/compile', {body: {document: text, ...(branch ? {branch} : {})}, signal}),
  )
  const {ok, format, graph, inputs} = got
  return {
    text,
    branch,
    ok,
    format,
    problems: (got.diagnostics ?? []).map(problemOf),
    drawing: graph,
    branches: got.branches ?? [],
    inputs,
  }
}

export type Checking = {check: Check | null; error: unknown; busy: boolean}

// passes reports whether an error may disappear if the request is repeated.
const passes = (err: unknown): boolean =>
  !(err instanceof ApiError) || err.status === 0 || err.status === 429 || err.status >= 500

const firstPause = 1000
const longestPause = 30_000

// checker checks a text once it has not changed for a while. Results for outdated texts are
// dropped. If the server does not respond, it retries by itself with increasing pauses.
export function checker(
  ask: (text: string, signal: AbortSignal) => Promise<Check>,
  got: (c: Checking) => void,
  wait = 75,
) {
  let timer: ReturnType<typeof setTimeout> | undefined
  let out: AbortController | null = null
  let last: Check | null = null
  let pause = firstPause
  let newest: string | null = null
  const now = async (text: string) => {
    const mine = new AbortController()
    out = mine
    try {
      const check = await ask(text, mine.signal)
      if (out !== mine) return
      last = check
      pause = firstPause
      got({check, error: null, busy: false})
    } catch (error) {
      if (out !== mine) return
      got({check: last, error, busy: false})
      if (!passes(error)) return
      timer = setTimeout(() => void now(text), pause)
      pause = Math.min(pause * 2, longestPause)
    }
  }
  const stop = () => {
    clearTimeout(timer)
    out?.abort()
    out = null
  }
  return {
    // check checks a text after the delay, or immediately.
    check(text: string, atOnce = false) {
      stop()
      newest = text
      if (last?.text === text) {
        got({check: last, error: null, busy: false})
        return
      }
      got({check: last, error: null, busy: true})
      if (atOnce) void now(text)
      else timer = setTimeout(() => void now(text), wait)
    },
    // again checks the newest text again, immediately.
    again() {
      if (newest === null) return
      stop()
      got({check: last, error: null, busy: true})
      void now(newest)
    },
    stop,
  }
}
