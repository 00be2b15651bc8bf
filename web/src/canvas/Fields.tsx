import {useEffect, useId, useState} from 'react'
import {own} from '../lib/own.ts'
import control from '../ui/control.module.css'
import {Text} from '../ui/Text.tsx'
import type {Held} from './bound.ts'
import {means, type Typed, typedJSON, typedNumber} from './drafts.ts'
import {TextInput} from './Expression.tsx'
import styles from './Inspector.module.css'
import type {Field} from './schema.ts'

type Props = {
  field: Pick<Field, 'key' | 'kind' | 'choices' | 'hint' | 'required' | 'holds'>
  label?: string
  held: Held
  set: (v: unknown) => void
  readOnly: boolean
}

const labels: Record<string, string> = {
  agentName: 'Name',
  systemPrompt: 'System prompt',
  userPrompt: 'User prompt',
  initialInput: 'Input if a run has none',
  reasoningEffort: 'Reasoning effort',
}

// labelOf turns a key into words.
export const labelOf = (key: string): string =>
  own(labels, key) ??
  key
    .replace(/([a-z])([A-Z])/g, '$1 $2')
    .replaceAll('_', ' ')
    .toLowerCase()
    .replace(/^./, c => c.toUpperCase())

// FieldInput is the control for a key. Emptying it removes the key, unless the document requires
// it.
export function FieldInput({field: f, label, held, set, readOnly}: Props) {
  const id = useId()
  const {value} = held
  const empty = f.required ? '' : undefined
  const text =
    typeof value === 'string'
      ? value
      : typeof value === 'number'
        ? held.text
        : value === undefined || value === null
          ? ''
          : String(value)
  const shared = {id, disabled: readOnly, 'aria-describedby': f.hint ? `${id}-hint` : undefined}
  // A value of a kind that the form does not expect is shown as JSON, and stays so while it is
  // edited.
  const [asJSON, setAsJSON] = useState(false)
  const odd = f.kind === 'json' || isOdd(f, value)
  useEffect(() => {
    if (odd) setAsJSON(true)
  }, [odd])
  const inner = () => {
    if (odd || asJSON) return <JSONInput {...shared} held={held} set={set} holds={f.holds} />
    switch (f.kind) {
      case 'words':
        return <Words {...shared} value={value} set={set} />
      case 'choice':
        return (
          <select
            {...shared}
            className={control.select}
            value={text}
            onChange={e => set(e.target.value === '' ? undefined : e.target.value)}
          >
            <option value="">default</option>
            {f.choices.map(c => (
              <option key={c}>{c}</option>
            ))}
            {text !== '' && !f.choices.includes(text) && <option>{text}</option>}
          </select>
        )
      case 'yes':
        return (
          <select
            {...shared}
            className={control.select}
            value={text}
            onChange={e => set(e.target.value === '' ? undefined : e.target.value === 'true')}
          >
            <option value="">default</option>
            <option value="true">yes</option>
            <option value="false">no</option>
          </select>
        )
      case 'number':
        return <DraftInput {...shared} held={held} set={set} read={typedNumber} one />
      default: {
        const rows =
          f.kind === 'any' ? 2 : f.kind === 'long' ? Math.min(12, Math.max(3, text.split('\n').length + 1)) : 0
        return (
          <TextInput {...shared} holds={f.holds} rows={rows} value={text} change={t => set(t === '' ? empty : t)} />
        )
      }
    }
  }
  return (
    <div className={styles.field} data-key={f.key}>
      <label htmlFor={id}>
        <Text>{label ?? labelOf(f.key)}</Text>
      </label>
      {inner()}
      {f.kind === 'any' && !readOnly && (
        <button type="button" className={styles.jump} onClick={() => setAsJSON(!asJSON && !odd)} disabled={odd}>
          {odd || asJSON ? 'Write as text' : 'Write as JSON'}
        </button>
      )}
      {f.hint && (
        <small id={`${id}-hint`}>
          <Text>{f.hint}</Text>
        </small>
      )}
    </div>
  )
}

function isOdd(f: Props['field'], v: unknown): boolean {
  if (f.kind === 'any') return v !== undefined && v !== null && typeof v !== 'string'
  if (f.kind === 'words' && Array.isArray(v)) return v.some(x => typeof x !== 'string')
  return v !== null && typeof v === 'object'
}

type Control = {id: string; disabled: boolean; 'aria-describedby'?: string | undefined; set: (v: unknown) => void}

// JSONInput accepts any value. holds is the kind of expressions that its strings hold.
export function JSONInput(props: Control & {held: Held; holds?: string}) {
  return <DraftInput {...props} read={typedJSON} />
}

// DraftInput accepts text that is parsed to a value. The value is set once the text is valid; until
// then the document keeps the old value, and the field keeps the typed text and shows the reason.
// If one is set, the field has a single line.
function DraftInput({
  held,
  set,
  read,
  one = false,
  holds = '',
  ...shared
}: Control & {held: Held; read: (text: string) => Typed; one?: boolean; holds?: string}) {
  const {text: now, name, drafts} = held
  const [{typed, over}, setTyped] = useState(() => {
    const draft = drafts.get(name)
    return draft?.over === now ? draft : {typed: now, over: now}
  })
  // A change made elsewhere is shown, unless it equals the typed text.
  if (over !== now) {
    const kept = means(typed, now)
    if (!kept) drafts.delete(name)
    setTyped({typed: kept ? typed : now, over: now})
  }
  const got = read(typed)
  const why = 'why' in got ? got.why : ''
  const edit = (t: string) => {
    const next = read(t)
    setTyped({typed: t, over: now})
    if ('why' in next) drafts.set(name, {typed: t, over: now})
    else {
      drafts.delete(name)
      set(next.value)
    }
  }
  const invalid = {...shared, 'aria-invalid': why !== '' || undefined, value: typed}
  const bound = {...invalid, onChange: (e: {target: {value: string}}) => edit(e.target.value)}
  const rows = Math.min(12, Math.max(2, typed.split('\n').length))
  return (
    <>
      {one ? (
        <input {...bound} inputMode="decimal" autoComplete="off" className={control.input} />
      ) : (
        <TextInput {...invalid} holds={holds} rows={rows} json change={edit} />
      )}
      {why && (
        <small role="status" className={styles.bad}>
          {why} The document keeps the previous value.
        </small>
      )}
    </>
  )
}

const split = (t: string) => t.split('\n').filter(x => x.trim() !== '')

// Words is a list of words, one per line.
function Words({value, set, ...shared}: Control & {value: unknown}) {
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
