import {useMutation, useQueryClient} from '@tanstack/react-query'
import {useMemo, useState} from 'react'
import {Link} from 'wouter'
import {ask, client} from '../api/client.ts'
import {ago, exact, plural} from '../lib/format.ts'
import type {LiveRun} from '../live/run_source.ts'
import type {Waiting} from '../run/types.ts'
import {useSession} from '../shell/session.ts'
import control from '../ui/control.module.css'
import {Button, ErrorBox, Field} from '../ui/parts.tsx'
import {Status} from '../ui/Status.tsx'
import {Line, Text} from '../ui/Text.tsx'
import {useNow} from '../ui/use_now.ts'
import {Value} from '../ui/Value.tsx'
import {type AnswerBody, AnswerForm} from './AnswerForm.tsx'
import {ClosedNote} from './Closed.tsx'
import styles from './Decide.module.css'
import {closedOf, factsOf, refusalOf, type WaitFacts} from './facts.ts'
import {kindOf, waitTitle} from './words.ts'

// go shows another wait of the run in place of the form; without it, that wait opens on a page of
// its own.
type Props = {wait: Waiting; live: LiveRun; done: (said: string) => void; go?: (wait: string) => void}

// Decide shows the full subject of the decision, the steps that led there, and the form. The form
// stays, with its input, when an answer is rejected or another one was first.
export function Decide({wait, live, done, go}: Props) {
  const {view, events} = live
  const session = useSession()
  const queries = useQueryClient()
  const [note, setNote] = useState('')
  const facts = useMemo(() => factsOf(events, wait.id), [events, wait.id])
  const closed = closedOf(view, events, wait.id)
  const answer = useMutation({
    mutationFn: (a: AnswerBody) =>
      ask(
        client.POST('/api/v1/runs/{id}/resume', {
          params: {path: {id: view.id}},
          body: {wait: wait.id, ...(note ? {note} : {}), ...a},
        }),
      ),
    onSuccess: (_, a) => {
      done(
        a.decision === 'approve' && a.arguments !== undefined
          ? 'approve, with changed arguments'
          : (a.decision ?? 'sent'),
      )
      void queries.invalidateQueries({queryKey: ['waits']})
    },
  })
  const refusal = refusalOf(session, wait, facts)
  const steps = view.steps.filter(s => s.status === 'completed' || s.status === 'failed')
  const others = view.waiting.filter(w => w.id !== wait.id)
  return (
    <article className={styles.wait}>
      <Head wait={wait} live={live} facts={facts} />
      {closed && <ClosedNote closed={closed} />}
      {steps.length > 0 && (
        <details className={styles.led}>
          <summary>What led here ({plural(steps.length, 'step')})</summary>
          <ol>
            {steps.slice(-50).map(s => (
              <li key={s.seq}>
                <h3>
                  <Line>{s.name}</Line>
                </h3>
                <Value of={s.output} run={view.id} label={`what ${s.name} gave`} />
              </li>
            ))}
          </ol>
        </details>
      )}
      {facts.lost && (
        <section>
          <h2>
            Arguments of the call of <code className={styles.tool}>{facts.lost.tool}</code>
          </h2>
          <Value of={facts.lost.arguments} run={view.id} label="the arguments" />
        </section>
      )}
      {wait.input !== undefined && wait.input !== null && !facts.limit && (
        <section>
          <h2>{wait.kind === 'approval' ? 'What is judged' : 'What came before'}</h2>
          <Value of={wait.input} run={view.id} label="what is judged" />
        </section>
      )}
      {answer.error && <ErrorBox error={answer.error} />}
      <AnswerForm
        wait={wait}
        facts={facts}
        usage={view.usage}
        off={answer.isPending || refusal !== '' || closed !== null}
        send={a => answer.mutate(a)}
      >
        {wait.kind !== 'signal' && (
          <Field label="Note, recorded with the answer">
            <textarea className={control.area} value={note} onChange={e => setNote(e.target.value)} />
          </Field>
        )}
      </AnswerForm>
      {refusal && (
        <p className={styles.changed} role="status">
          <Text>{refusal}</Text>
        </p>
      )}
      {others.length > 0 && (
        <section>
          <h2>Also waits in this run</h2>
          <ul className={styles.others}>
            {others.map(w => (
              <li key={w.id}>
                {go ? (
                  <Button onClick={() => go(w.id)}>
                    <Line>{waitTitle(w)}</Line>
                  </Button>
                ) : (
                  <Link href={`/inbox/${view.id}/${w.id}`}>
                    <Line>{waitTitle(w)}</Line>
                  </Link>
                )}
              </li>
            ))}
          </ul>
        </section>
      )}
    </article>
  )
}

function Head({wait, live, facts}: {wait: Waiting; live: LiveRun; facts: WaitFacts}) {
  const now = useNow(!!wait.deadline || !!facts.remind, 15_000)
  const {workflow, id} = live.view
  return (
    <header className={styles.head}>
      <p className={styles.facts}>
        <Status of="waiting" />
        <Link href={`/runs/${id}`}>
          <Line>{workflow.name || workflow.id || 'Run'}</Line>
        </Link>
        {workflow.version !== null && <span>v{workflow.version}</span>}
        <span>{kindOf(wait, facts)}</span>
        <span className={styles.at}>
          at <Line>{wait.node}</Line>
        </span>
        <span title={exact(wait.since)}>since {ago(wait.since, now)}</span>
        {wait.deadline && (
          <span className={styles.due} title={exact(wait.deadline)}>
            {Date.parse(wait.deadline) > now ? 'due' : 'was due'} {ago(wait.deadline, now)}
          </span>
        )}
        {facts.reminded ? (
          <span title={exact(facts.reminded)}>reminded {ago(facts.reminded, now)}</span>
        ) : (
          facts.remind && <span title={exact(facts.remind)}>reminder {ago(facts.remind, now)}</span>
        )}
        {(wait.roles ?? []).length > 0 && (
          <span className={styles.at}>
            for <Line>{(wait.roles ?? []).join(', ')}</Line>
          </span>
        )}
      </p>
      <h1>
        <Text>{facts.limit ? 'The budget of the run is used up' : waitTitle(wait)}</Text>
      </h1>
      {facts.below && (
        <p>
          It waits in a run below: <Link href={`/runs/${facts.below.run}`}>{facts.below.run.slice(-8)}</Link>. One
          answer continues both.
        </p>
      )}
    </header>
  )
}
