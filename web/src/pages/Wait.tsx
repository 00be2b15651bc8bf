import {useMutation, useQuery, useQueryClient} from '@tanstack/react-query'
import {ChevronLeft} from 'lucide-react'
import {useState} from 'react'
import {Link} from 'wouter'
import {ApiError, ask, client} from '../api/client.ts'
import {ago, exact, plural} from '../lib/format.ts'
import {useSession} from '../shell/session.ts'
import {type OpenWait, useOpenWaits} from '../shell/waits.ts'
import control from '../ui/control.module.css'
import {Button, Empty, ErrorBox, Field, Loading} from '../ui/parts.tsx'
import {SchemaForm} from '../ui/SchemaForm.tsx'
import {Status} from '../ui/Status.tsx'
import {Line, Text} from '../ui/Text.tsx'
import {Value} from '../ui/Value.tsx'
import styles from './Wait.module.css'
import {kindText, waitTitle} from './wait_words.ts'

type Answer = {decision?: string; input?: unknown; note?: string; limits?: Record<string, unknown>}

// WaitPage is where a person decides: what is judged in full, what led there, a note, and the buttons.
export function WaitPage({run, wait}: {run: string; wait: string}) {
  const waits = useOpenWaits()
  const found = waits.data?.find(w => w.run === run && w.id === wait)
  const state = useQuery({
    queryKey: ['waits', 'run', run, !!found],
    queryFn: () => ask(client.GET('/api/v1/runs/{id}', {params: {path: {id: run}, query: {limit: 200}}})),
  })
  const [said, setSaid] = useState('')
  const inside = () => {
    if (waits.error && !waits.data) return <ErrorBox error={waits.error} again={() => void waits.refetch()} />
    if (waits.isPending || state.isPending) return <Loading what="what waits" />
    if (said) return <Done said={said} run={run} />
    if (!found) return <Gone run={run} wait={wait} state={state.data} error={state.error} />
    return <Decide wait={found} state={state.data} done={setSaid} />
  }
  return (
    <div className={styles.page}>
      <Link href="/inbox" className={styles.back}>
        <ChevronLeft size={14} aria-hidden /> Inbox{waits.data ? ` ${waits.data.length}` : ''}
      </Link>
      {inside()}
    </div>
  )
}

type RunState = Awaited<
  ReturnType<typeof ask<{steps: {seq: number; name: string; node: string; status: string; output?: unknown}[]; status: string; answers?: unknown[]}>>
>

function Done({said, run}: {said: string; run: string}) {
  const waits = useOpenWaits()
  const next = (waits.data ?? [])[0]
  return (
    <Empty title={`Answered: ${said}`}>
      <p className={styles.links}>
        <Link href={`/runs/${run}`}>Watch the run</Link>
        {next && <Link href={`/inbox/${next.run}/${next.id}`}>Next: {waits.data?.length ?? 0} left</Link>}
      </p>
    </Empty>
  )
}

function Gone({run, wait, state, error}: {run: string; wait: string; state: unknown; error: unknown}) {
  if (error) return <ErrorBox error={error} />
  const answers = (
    (state as {answers?: {wait: string; decision?: string; by: {name?: string; channel: string}; at: string; note?: string}[]}).answers ?? []
  ).find(a => a.wait === wait)
  return (
    <Empty title="This no longer waits">
      {answers ? (
        <p>
          {answers.by.name || answers.by.channel} answered {ago(answers.at)}
          {answers.decision ? `: ${answers.decision}` : ''}. {answers.note && <Text>{answers.note}</Text>}
        </p>
      ) : (
        <p>It was closed without an answer, or it never was.</p>
      )}
      <Link href={`/runs/${run}`}>Look at the run</Link>
    </Empty>
  )
}

function Decide({wait, state, done}: {wait: OpenWait; state: unknown; done: (said: string) => void}) {
  const session = useSession()
  const queries = useQueryClient()
  const [note, setNote] = useState('')
  const answer = useMutation({
    mutationFn: (a: Answer) =>
      ask(client.POST('/api/v1/runs/{id}/resume', {params: {path: {id: wait.run}}, body: {wait: wait.id, ...(note ? {note} : {}), ...a} as never})),
    onSuccess: (_, a) => {
      done(a.decision ?? 'sent')
      void queries.invalidateQueries({queryKey: ['waits']})
    },
  })
  const steps = ((state as RunState | undefined)?.steps ?? []).filter(s => s.status === 'completed' || s.status === 'failed')
  const needs = wait.kind === 'approval' && !session.approve
  const problem = answer.error
  return (
    <article className={styles.wait}>
      <header className={styles.head}>
        <p className={styles.facts}>
          <Status of="waiting" />
          <Link href={`/runs/${wait.run}`}>
            <Line>{wait.workflow}</Line>
          </Link>
          <span>{wait.tool ? 'tool call' : kindText(wait.kind)}</span>
          <span title={exact(wait.since)}>since {ago(wait.since)}</span>
          {wait.deadline && (
            <span className={styles.due} title={exact(wait.deadline)}>
              due {ago(wait.deadline)}
            </span>
          )}
        </p>
        <h1>
          <Text>{waitTitle(wait)}</Text>
        </h1>
      </header>
      {steps.length > 0 && (
        <details className={styles.led}>
          <summary>What led here ({plural(steps.length, 'step')})</summary>
          <ol>
            {steps.map(s => (
              <li key={s.seq}>
                <h3>
                  <Line>{s.name}</Line>
                </h3>
                <Value of={s.output} run={wait.run} label={`what ${s.name} gave`} />
              </li>
            ))}
          </ol>
        </details>
      )}
      {wait.tool && (
        <section>
          <h2>
            It would call <code className={styles.tool}>{wait.tool}</code> with
          </h2>
          <Value of={wait.arguments} run={wait.run} label="the arguments" />
          {wait.changed && <p className={styles.changed}>The definition of this tool changed since the run began; approving accepts the new one.</p>}
        </section>
      )}
      {wait.input !== undefined && wait.input !== null && (
        <section>
          <h2>{wait.kind === 'approval' ? 'What is judged' : 'What came before'}</h2>
          <Value of={wait.input} run={wait.run} label="what is judged" />
        </section>
      )}
      {problem && <ErrorBox error={problem} />}
      {problem instanceof ApiError && problem.status === 409 && <p>Another answer was first, or the wait closed.</p>}
      <AnswerForm wait={wait} busy={answer.isPending} refused={needs} send={a => answer.mutate(a)}>
        {wait.kind !== 'signal' && (
          <Field label="Note, recorded with the answer">
            <textarea className={control.area} value={note} onChange={e => setNote(e.target.value)} />
          </Field>
        )}
      </AnswerForm>
      {needs && <p className={styles.changed}>Your token lacks the right to answer approvals.</p>}
    </article>
  )
}

type FormProps = {wait: OpenWait; busy: boolean; refused: boolean; send: (a: Answer) => void; children: React.ReactNode}

// AnswerForm is the form that fits the wait: buttons of its options, a form of its schema, or a text.
function AnswerForm({wait, busy, refused, send, children}: FormProps) {
  const [text, setText] = useState('')
  const off = busy || refused
  if (wait.kind === 'signal') return <p>A program or a webhook sends the signal; a person has nothing to answer.</p>
  const schema = wait.schema as {type?: string; properties?: object} | undefined
  if (schema && schema.type === 'object') {
    return (
      <>
        {children}
        <SchemaForm schema={schema} busy={off} send={input => send({input})} submit="Send the answer" />
      </>
    )
  }
  if (wait.options.length > 0) {
    return (
      <>
        {children}
        <div className={styles.buttons}>
          {wait.options.map(o => (
            <Button key={o} kind={o === 'approve' ? 'primary' : o === 'reject' ? 'danger' : 'plain'} disabled={off} onClick={() => send({decision: o})}>
              {o === 'approve' ? 'Approve' : o === 'reject' ? 'Reject' : <Line>{o}</Line>}
            </Button>
          ))}
        </div>
      </>
    )
  }
  return (
    <>
      <Field label="Answer">
        <textarea className={control.area} value={text} onChange={e => setText(e.target.value)} />
      </Field>
      {children}
      <div className={styles.buttons}>
        <Button kind="primary" disabled={off || text.trim() === ''} onClick={() => send({input: text})}>
          Send the answer
        </Button>
      </div>
    </>
  )
}
