import {type FormEvent, useState} from 'react'
import {count, usd} from '../lib/format.ts'
import type {RunView} from '../run/types.ts'
import control from '../ui/control.module.css'
import {Button, Field} from '../ui/parts.tsx'
import styles from './Decide.module.css'
import {type Limit, unitOf} from './facts.ts'

type Props = {
  limit: Limit
  usage: RunView['usage']
  off: boolean
  send: (input: string) => void
  children: React.ReactNode
}

// Budget asks for a larger limit: it shows the limit that was reached and the usage, and edits the
// new total.
export function Budget({limit, usage, off, send, children}: Props) {
  const unit = unitOf(limit, usage)
  const money = unit.suffix === 'USD'
  const [text, setText] = useState(String(unit.max * 2))
  const show = (n: number) =>
    money ? usd(Number.isNaN(n) ? null : n) : `${count(n)} ${n === 1 ? unit.word.slice(0, -1) : unit.word}`
  const n = Number(text)
  const larger = text.trim() !== '' && n > unit.max
  const submit = (e: FormEvent) => {
    e.preventDefault()
    if (larger && !off) send(`${text.trim()}${unit.suffix}`)
  }
  return (
    <form className={styles.form} onSubmit={submit}>
      <dl className={styles.limits}>
        <div>
          <dt>Limit that was reached</dt>
          <dd>{show(unit.max)}</dd>
        </div>
        <div>
          <dt>Used so far</dt>
          <dd>{show(unit.used)}</dd>
        </div>
      </dl>
      <Field
        label={unit.label}
        hint={
          larger || text.trim() === ''
            ? 'The run continues where it stopped'
            : `It must be more than ${money ? unit.max : count(unit.max)}`
        }
      >
        <input
          className={control.input}
          type="number"
          inputMode="decimal"
          step={unit.step}
          value={text}
          onChange={e => setText(e.target.value)}
        />
      </Field>
      {children}
      <div className={styles.buttons}>
        <Button kind="danger" disabled={off} onClick={() => send('stop')}>
          Stop the run
        </Button>
        <Button kind="primary" type="submit" disabled={off || !larger}>
          Continue
        </Button>
      </div>
    </form>
  )
}
