import {useMutation, useQuery} from '@tanstack/react-query'
import {Play, Square} from 'lucide-react'
import {useCallback, useEffect, useMemo, useState} from 'react'
import {Link} from 'wouter'
import {ask, client} from '../api/client.ts'
import type {LiveRun} from '../live/run_source.ts'
import {useRun} from '../live/use_run.ts'
import {useDefinition} from '../run/definition.ts'
import {testLabels} from '../run/test_run.ts'
import type {Step} from '../run/types.ts'
import control from '../ui/control.module.css'
import {Dialog} from '../ui/Dialog.tsx'
import {Button, ErrorBox, Field} from '../ui/parts.tsx'
import {SchemaForm} from '../ui/SchemaForm.tsx'
import {Status} from '../ui/Status.tsx'
import {Text} from '../ui/Text.tsx'
import {Value} from '../ui/Value.tsx'
import styles from './TestRun.module.css'

const over: ReadonlySet<string> = new Set(['completed', 'failed', 'cancelled'])

export type Answering = {run: string; branch: string; wait: string}

export type Testing = {
  run: string | null
  branch: string
  live: LiveRun | null
  running: boolean
  states: ReadonlyMap<string, string>
  steps: ReadonlyMap<string, Step> // the last step of each node
  followed: readonly string[] // the run that is drawn, and the run that is answered if it is another one
  answering: Answering | null // the wait answered next to the drawing; a new object for each request
  answered: LiveRun | null // the run that it belongs to
  wait: string | null // the wait of the drawn run that is being answered
  setRun: (id: string) => void
  answer: (wait: string | null) => void
  goOn: (wait: string) => void // shows another wait of the run that is being answered
  follow: (run: string, live: LiveRun | null) => void
}

type Own = {run: string; branch: string}

// useTesting provides the run whose states are drawn: the test run, else the run that is being
// answered, else the last run of the workflow. branch is the graph that is drawn; '' is the main
// graph. An open answer, with its typed input, stays when another run or graph is drawn: only the
// user closes it.
export function useTesting(workflow: string, branch = ''): Testing {
  const [owns, setOwns] = useState<readonly Own[]>([])
  const [lives, setLives] = useState<ReadonlyMap<string, LiveRun>>(new Map())
  const [answering, setAnswering] = useState<Answering | null>(null)
  const last = useQuery({
    queryKey: ['runs', 'last', workflow, branch],
    queryFn: async () => {
      const query = {workflow, ...(branch ? {branch, limit: 1} : {limit: 50})}
      const {items} = await ask(client.GET('/api/v1/runs', {params: {query}}))
      return items?.find(r => (r.branch ?? '') === branch)?.id ?? null
    },
    enabled: workflow !== '',
  })
  const own = owns.find(o => o.branch === branch)?.run ?? null
  const run = own ?? (answering?.branch === branch ? answering.run : (last.data ?? null))
  const live = (run !== null && lives.get(run)) || null
  const view = live?.view ?? null
  const states = useMemo(
    () => new Map((view?.nodes ?? []).filter(n => n.status !== 'pending').map(n => [n.node, n.status])),
    [view],
  )
  const steps = useMemo(() => new Map((view?.steps ?? []).map(s => [s.node, s])), [view])
  const setRun = useCallback(
    (id: string) => setOwns(all => [{run: id, branch}, ...all.filter(o => o.branch !== branch)]),
    [branch],
  )
  const answer = useCallback(
    (wait: string | null) => setAnswering(wait === null || run === null ? null : {run, branch, wait}),
    [run, branch],
  )
  const goOn = useCallback((wait: string) => setAnswering(now => now && {...now, wait}), [])
  const follow = useCallback((id: string, now: LiveRun | null) => {
    setLives(all => {
      const out = new Map(all)
      if (now) out.set(id, now)
      else out.delete(id)
      return out
    })
  }, [])
  const followed = [...new Set([run, answering?.run ?? run])].filter(r => r !== null)
  const answered = (answering && lives.get(answering.run)) ?? null
  const wait = answering?.run === run ? answering.wait : null
  const running = own !== null && (view === null || !over.has(view.status))
  return {run, branch, live, running, states, steps, followed, answering, answered, wait, setRun, answer, goOn, follow}
}

// Follow follows a run.
export function Follow({run, follow}: Pick<Testing, 'follow'> & {run: string}) {
  const definition = useDefinition(run)
  const live = useRun(run, definition.data)
  useEffect(() => follow(run, live), [run, live, follow])
  useEffect(() => () => follow(run, null), [run, follow])
  return null
}

type Props = {
  testing: Testing
  text: string
  format: string
  name: string
  initial: string
  inputs: unknown
  why: string
  showProblem: (() => void) | null
}

// TestRun starts a run of the current text, stored or not, and shows its state. If it cannot start
// one, it says why.
export function TestRun({testing, text, format, name, initial, inputs, why, showProblem}: Props) {
  const [open, setOpen] = useState(false)
  const [typed, setTyped] = useState<string | null>(null)
  const input = typed ?? initial
  const {live, run, setRun} = testing
  const start = useMutation({
    mutationFn: (v: unknown) =>
      ask(
        client.POST('/api/v1/runs', {
          body: {
            document: text,
            format: format as 'canvas',
            name,
            labels: {...testLabels},
            ...(testing.branch ? {branch: testing.branch} : {}),
            ...(v === '' ? {} : {input: v}),
          },
        }),
      ),
    onSuccess: r => {
      setRun(r.id)
      setOpen(false)
    },
  })
  const stop = useMutation({
    mutationFn: () => ask(client.POST('/api/v1/runs/{id}/cancel', {params: {path: {id: run!}}, body: {}})),
  })
  const close = useCallback(() => setOpen(false), [])
  const wait = live?.view.waiting[0]
  const asked = live?.view.waiting.find(w => w.id === testing.wait)
  const schema = inputs as {properties?: object} | null | undefined
  return (
    <div className={styles.test} data-test>
      {live && run && (
        <span className={styles.stand} role="status">
          <Status of={live.view.status} />
          <Link href={`/runs/${run}`}>
            {testing.running || live.view.workflow.id === null ? 'test run' : 'last run'}
          </Link>
        </span>
      )}
      {wait && (
        <Button
          kind="primary"
          data-answers
          aria-expanded={testing.wait !== null}
          onClick={() => testing.answer(asked?.id ?? wait.id)}
        >
          {wait.kind === 'signal' ? 'What it waits for' : 'Answer'}
        </Button>
      )}
      {why && !testing.running && (
        <span className={styles.why} id="why-no-run">
          {showProblem ? (
            <button type="button" onClick={showProblem}>
              <Text>{why}</Text>
            </button>
          ) : (
            <Text>{why}</Text>
          )}
        </span>
      )}
      {testing.running ? (
        <Button
          onClick={() => stop.mutate()}
          disabled={stop.isPending}
          title={stop.error ? String(stop.error.message) : undefined}
        >
          <Square size={14} /> Stop
        </Button>
      ) : (
        <Button
          data-starts
          aria-describedby={why ? 'why-no-run' : undefined}
          disabled={why !== ''}
          onClick={() => setOpen(true)}
        >
          <Play size={14} /> Test run
        </Button>
      )}
      {open && (
        <Dialog title="Test run" close={close}>
          <p className={styles.quiet}>
            The document runs as it is here, stored or not. Models and tools are those of the server.
          </p>
          {schema?.properties ? (
            <SchemaForm schema={schema} busy={start.isPending} submit="Run" send={v => start.mutate(v)} />
          ) : (
            <form
              className={styles.form}
              onSubmit={e => {
                e.preventDefault()
                start.mutate(input)
              }}
            >
              <Field label="Input">
                <textarea className={control.area} value={input} onChange={e => setTyped(e.target.value)} />
              </Field>
              <div>
                <Button kind="primary" type="submit" disabled={start.isPending}>
                  Run
                </Button>
              </div>
            </form>
          )}
          {start.error && <ErrorBox error={start.error} />}
        </Dialog>
      )}
    </div>
  )
}

// LastRun shows the input and output of a node in the run that is drawn.
export function LastRun({testing, node}: {testing: Testing; node: string}) {
  const step = testing.steps.get(node)
  if (!step || !testing.run) return null
  return (
    <details className={styles.last} open>
      <summary>
        Last run <Status of={step.status} />
      </summary>
      <h3>In</h3>
      <Value of={step.input} run={testing.run} label="input" />
      <h3>Out</h3>
      {step.error ? (
        <p>
          <Text>{String(step.error.message)}</Text>
        </p>
      ) : (
        <Value of={step.output} run={testing.run} label="output" />
      )}
      {step.note && (
        <p>
          <Text>{`note: ${step.note}`}</Text>
        </p>
      )}
      <Link href={`/runs/${testing.run}?tab=steps&step=${step.seq}`}>The step</Link>
    </details>
  )
}
