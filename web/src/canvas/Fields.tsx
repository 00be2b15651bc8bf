import {useEffect, useId, useState} from 'react'
import {pretty} from '../lib/json.ts'
import {own} from '../lib/own.ts'
import control from '../ui/control.module.css'
import styles from './Inspector.module.css'
import type {Field} from './schema.ts'

type Props = {field: Field; value: unknown; set: (v: unknown) => void; readOnly: boolean}

const labels: Record<string, string> = {
  agentName: 'Name',
  systemPrompt: 'System prompt',
  userPrompt: 'User prompt',
  initialInput: 'Input if a run has none',
  reasoningEffort: 'Reasoning effort',
}

// labelOf makes words of a key.
export const labelOf = (key: string): string =>
  own(labels, key) ??
  key
    .replace(/([a-z])([A-Z])/g, '$1 $2')
    .replaceAll('_', ' ')
    .toLowerCase()
    .replace(/^./, c => c.toUpperCase())

// FieldInput is the control of a key. An empty one takes the key away, unless the document must have it.
export function FieldInput({field: f, value, set, readOnly}: Props) {
  const id = useId()
  const empty = f.required ? '' : undefined
  const text = typeof value === 'string' ? value : value === undefined || value === null ? '' : typeof value === 'object' ? '' : String(value)
  const shared = {id, disabled: readOnly, 'aria-describedby': f.hint ? `${id}-hint` : undefined}
  const inner = () => {
    // A value that is not of the kind that the form expects is shown as it is.
    const odd =
      value !== undefined &&
      value !== null &&
      typeof value === 'object' &&
      f.kind !== 'json' &&
      f.kind !== 'any' &&
      !(f.kind === 'words' && Array.isArray(value) && value.every(x => typeof x !== 'object'))
    if (odd || f.kind === 'json') return <JSONInput {...shared} value={value} set={set} />
    switch (f.kind) {
      case 'any':
        return typeof value === 'string' || value === undefined || value === null ? (
          <textarea {...shared} rows={2} className={control.area} value={text} onChange={e => set(e.target.value === '' ? empty : e.target.value)} />
        ) : (
          <JSONInput {...shared} value={value} set={set} />
        )
      case 'long':
        return (
          <textarea
            {...shared}
            rows={Math.min(12, Math.max(3, text.split('\n').length + 1))}
            className={control.area}
            value={text}
            onChange={e => set(e.target.value === '' ? empty : e.target.value)}
          />
        )
      case 'words':
        return <Words {...shared} value={value} set={set} />
      case 'choice':
        return (
          <select {...shared} className={control.select} value={text} onChange={e => set(e.target.value === '' ? undefined : e.target.value)}>
            <option value="">default</option>
            {f.choices.map(c => (
              <option key={c}>{c}</option>
            ))}
            {text !== '' && !f.choices.includes(text) && <option>{text}</option>}
          </select>
        )
      case 'yes':
        return (
          <select {...shared} className={control.select} value={text} onChange={e => set(e.target.value === '' ? undefined : e.target.value === 'true')}>
            <option value="">default</option>
            <option value="true">yes</option>
            <option value="false">no</option>
          </select>
        )
      case 'number':
        return (
          <input
            {...shared}
            type="number"
            step="any"
            className={control.input}
            value={text}
            onChange={e => set(e.target.value === '' ? undefined : Number(e.target.value))}
          />
        )
      default:
        return <input {...shared} className={control.input} value={text} onChange={e => set(e.target.value === '' ? empty : e.target.value)} />
    }
  }
  return (
    <div className={styles.field}>
      <label htmlFor={id}>{labelOf(f.key)}</label>
      {inner()}
      {f.hint && <small id={`${id}-hint`}>{f.hint}</small>}
    </div>
  )
}

type Control = {id: string; disabled: boolean; 'aria-describedby'?: string | undefined; value: unknown; set: (v: unknown) => void}

// JSONInput takes any value. What is typed is set once it is JSON; until then the document keeps what it has.
export function JSONInput({value, set, ...shared}: Control) {
  const now = value === undefined ? '' : pretty(value)
  const [typed, setTyped] = useState(now)
  const [bad, setBad] = useState(false)
  // What was changed elsewhere is shown, unless it is what was typed.
  useEffect(() => {
    setTyped(t => (sameJSON(t, value) ? t : now))
    setBad(false)
  }, [now, value])
  return (
    <>
      <textarea
        {...shared}
        rows={Math.min(12, Math.max(2, typed.split('\n').length))}
        className={`${control.area} ${control.code}`}
        spellCheck={false}
        placeholder="JSON"
        aria-invalid={bad || undefined}
        value={typed}
        onChange={e => {
          const t = e.target.value
          setTyped(t)
          if (t.trim() === '') {
            setBad(false)
            set(undefined)
            return
          }
          try {
            const v: unknown = JSON.parse(t)
            setBad(false)
            set(v)
          } catch {
            setBad(true)
          }
        }}
      />
      {bad && (
        <small role="status" className={styles.bad}>
          Not valid JSON: the document keeps the previous value.
        </small>
      )}
    </>
  )
}

function sameJSON(text: string, value: unknown): boolean {
  if (text.trim() === '') return value === undefined
  try {
    return JSON.stringify(JSON.parse(text)) === JSON.stringify(value)
  } catch {
    return false
  }
}

const split = (t: string) => t.split('\n').filter(x => x.trim() !== '')

// Words is a list of words, one on each line.
function Words({value, set, ...shared}: Control) {
  const list = Array.isArray(value) ? value.map(String) : typeof value === 'string' ? [value] : []
  const now = list.join('\n')
  const [typed, setTyped] = useState(now)
  useEffect(() => setTyped(t => (split(t).join('\n') === now ? t : now)), [now])
  return (
    <textarea
      {...shared}
      rows={Math.min(8, Math.max(2, typed.split('\n').length))}
      className={control.area}
      placeholder="one on each line"
      value={typed}
      onChange={e => {
        setTyped(e.target.value)
        const words = split(e.target.value)
        set(words.length === 0 ? undefined : words)
      }}
    />
  )
}
