import {type ReactNode, useState} from 'react'
import type {RunView, Waiting} from '../run/types.ts'
import control from '../ui/control.module.css'
import {Button, Field} from '../ui/parts.tsx'
import {SchemaForm} from '../ui/SchemaForm.tsx'
import {Line} from '../ui/Text.tsx'
import {Budget} from './Budget.tsx'
import styles from './Decide.module.css'
import type {WaitFacts} from './facts.ts'
import {ToolApproval} from './ToolApproval.tsx'

// AnswerBody is the body of a request that answers a wait.
export type AnswerBody = {decision?: string; input?: unknown; note?: string; arguments?: unknown}

export type FormProps = {
  wait: Waiting
  facts: WaitFacts
  usage: RunView['usage']
  off: boolean
  send: (a: AnswerBody) => void
  children: ReactNode
}

const outcomes: Record<string, {label: string; means: string}> = {
  retry: {label: 'Retry', means: 'make the call again, with the same idempotency key'},
  skip: {label: 'Skip', means: 'say that the outcome is unknown, and continue'},
  fail: {label: 'Fail', means: 'fail the step'},
}

// AnswerForm is the form for the kind of the wait.
export function AnswerForm(p: FormProps) {
  const {wait, facts, usage, off, send, children} = p
  if (wait.kind === 'signal') return <p>A program or a webhook sends the signal; a person has nothing to answer.</p>
  if (facts.limit) {
    return (
      <Budget limit={facts.limit} usage={usage} off={off} send={input => send({input})}>
        {children}
      </Budget>
    )
  }
  if (wait.tool && wait.kind === 'approval') return <ToolApproval {...p} />
  if (facts.lost) return <Outcome {...p} />
  const schema = wait.schema as {type?: string} | undefined
  if (wait.kind !== 'approval' && schema?.type === 'object') {
    return (
      <SchemaForm schema={schema} busy={off} send={input => send({input})} submit="Send the answer">
        {children}
      </SchemaForm>
    )
  }
  if (wait.options.length > 0) return <Options {...p} />
  return <FreeText {...p} />
}

function Options({wait, off, send, children}: FormProps) {
  const order = (o: string) => (o === 'approve' ? 1 : 0) // on phones the thumb is on the right
  return (
    <>
      {children}
      <div className={styles.buttons}>
        {[...wait.options]
          .sort((a, b) => order(a) - order(b))
          .map(o => (
            <Button
              key={o}
              kind={o === 'approve' ? 'primary' : o === 'reject' ? 'danger' : 'plain'}
              disabled={off}
              onClick={() => send({decision: o})}
            >
              {o === 'approve' ? 'Approve' : o === 'reject' ? 'Reject' : <Line>{o}</Line>}
            </Button>
          ))}
      </div>
    </>
  )
}

function Outcome({wait, off, send, children}: FormProps) {
  return (
    <>
      <dl className={`${styles.limits} ${styles.means}`}>
        {wait.options.map(o => (
          <div key={o}>
            <dt>{outcomes[o]?.label ?? <Line>{o}</Line>}</dt>
            <dd>{outcomes[o]?.means ?? ''}</dd>
          </div>
        ))}
      </dl>
      {children}
      <div className={styles.buttons}>
        {wait.options.map(o => (
          <Button key={o} kind={o === 'fail' ? 'danger' : 'plain'} disabled={off} onClick={() => send({decision: o})}>
            {outcomes[o]?.label ?? <Line>{o}</Line>}
          </Button>
        ))}
      </div>
    </>
  )
}

function FreeText({wait, off, send, children}: FormProps) {
  const [text, setText] = useState('')
  const json =
    wait.schema !== undefined &&
    wait.schema !== null &&
    wait.schema !== true &&
    (wait.schema as {type?: string}).type !== 'string'
  return (
    <>
      <Field label="Answer" {...(json ? {hint: 'A text, a number or any other JSON that fits'} : {})}>
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
