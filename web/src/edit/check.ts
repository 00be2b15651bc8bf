import {ApiError, ask, client, type Schemas} from '../api/client.ts'

export type Mark = Schemas['Mark']
export type Drawing = Schemas['Graph']
export type Branch = Schemas['BranchFact']

// Problem is what is wrong with a document, at its place. from and to are UTF-16 offsets of the text that was checked; null: it is nowhere in it.
export type Problem = {
  code: string
  severity: 'error' | 'warning' | 'info'
  message: string
  hint: string
  path: string
  file: string
  // node is the innermost node that has it, by its id; '' is none. branch is the branch of the node; '' is the main graph.
  node: string
  branch: string
  at: {from: number; to: number; line: number} | null
}

// Check is what the server says of a text, as far as it understood it. text and branch are those that were checked.
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

// checkText asks the server what a text means, and what is wrong with it. branch is the one that is drawn; '' is the main graph.
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

// passes tells whether an error may be over when the same is asked again.
const passes = (err: unknown): boolean =>
  !(err instanceof ApiError) || err.status === 0 || err.status === 429 || err.status >= 500

const firstPause = 1000
const longestPause = 30_000

// checker checks a text once it has not changed for a while. Answers to texts that are no longer the newest are dropped. Where the server does not answer it asks again by
// itself, after longer and longer pauses.
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
    // check asks about a text after the wait, or at once.
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
    // again asks anew about the newest text, at once.
    again() {
      if (newest === null) return
      stop()
      got({check: last, error: null, busy: true})
      void now(newest)
    },
    stop,
  }
}
