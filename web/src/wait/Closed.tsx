import {Link} from 'wouter'
import {ago, exact} from '../lib/format.ts'
import {Empty} from '../ui/parts.tsx'
import {Line, Text} from '../ui/Text.tsx'
import {Value} from '../ui/Value.tsx'
import styles from './Decide.module.css'
import {type Closed, saidOf, whoOf} from './facts.ts'

const reasons: Record<string, string> = {
  deadline: 'The deadline passed.',
  cancelled: 'What asked was cancelled.',
  ended: 'The run ended.',
}

function Who({closed}: {closed: Closed}) {
  const {answer: a, reason} = closed
  if (!a) return <p>{reasons[reason] ?? 'It was closed without an answer.'}</p>
  return (
    <>
      <p>
        <strong>
          <Text>{whoOf(a)}</Text>
        </strong>{' '}
        <Text>{saidOf(a)}</Text>
        {a.by.channel !== 'clock' && ' first'}, <span title={exact(a.at)}>{ago(a.at)}</span>
        {a.note ? ', with the note:' : '.'}
      </p>
      {a.note && <Value of={a.note} label="the note" />}
      {a.arguments !== undefined && <Value of={a.arguments} label="the changed arguments" />}
      {a.answer !== undefined && a.answer !== null && <Value of={a.answer} label="the answer" />}
    </>
  )
}

// ClosedNote says in an open form that another answer was first, or that the wait closed (P24).
export function ClosedNote({closed}: {closed: Closed}) {
  return (
    <section className={styles.changed} role="status" aria-label="This no longer waits">
      <h2>This no longer waits</h2>
      <Who closed={closed} />
      <p>What you typed is still here; it was not sent.</p>
    </section>
  )
}

// Gone is shown if the wait was closed before the page was opened.
export function Gone({run, closed}: {run: string; closed: Closed | null}) {
  return (
    <Empty title="This no longer waits">
      {closed ? <Who closed={closed} /> : <p>The run has no such wait.</p>}
      <p className={styles.links}>
        <Link href={`/runs/${run}`}>Look at the run</Link>
        <Link href="/inbox">
          <Line>To the inbox</Line>
        </Link>
      </p>
    </Empty>
  )
}
