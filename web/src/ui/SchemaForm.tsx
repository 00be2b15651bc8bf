import {type FormEvent, useMemo, useState} from 'react'
import {clean} from '../lib/hostile.ts'
import control from './control.module.css'
import {Button, ErrorBox} from './parts.tsx'
import styles from './SchemaForm.module.css'
import {fieldsOf, initialOf, type SchemaField, valueOf} from './schema_fields.ts'
import {Text} from './Text.tsx'

type Props = {schema: unknown; busy: boolean; submit: string; send: (v: Record<string, unknown>) => void}

// SchemaForm is a form for an object that must fit a schema.
export function SchemaForm({schema, busy, submit, send}: Props) {
  const fields = useMemo(() => fieldsOf(schema), [schema])
  const [typed, setTyped] = useState(() => initialOf(fields))
  const [error, setError] = useState<unknown>(null)
  const set = (name: string, v: string | boolean) => setTyped(t => ({...t, [name]: v}))
  const done = (e: FormEvent) => {
    e.preventDefault()
    try {
      setError(null)
      send(valueOf(fields, typed))
    } catch (err) {
      setError(err)
    }
  }
  return (
    <form className={styles.form} onSubmit={done}>
      {fields.map(f => (
        <Input key={f.name} field={f} value={typed[f.name] ?? ''} set={v => set(f.name, v)} />
      ))}
      {error !== null && <ErrorBox error={error} />}
      <div>
        <Button kind="primary" type="submit" disabled={busy}>
          {submit}
        </Button>
      </div>
    </form>
  )
}

function Input({field: f, value, set}: {field: SchemaField; value: string | boolean; set: (v: string | boolean) => void}) {
  const id = `field-${f.name}`
  const hint = f.hint ? `${id}-hint` : undefined
  const shared = {id, required: f.required, 'aria-describedby': hint}
  const text = typeof value === 'string' ? value : ''
  const inner = () => {
    switch (f.kind) {
      case 'boolean':
        return null
      case 'choice':
        return (
          <select {...shared} className={control.select} value={text} onChange={e => set(e.target.value)}>
            <option value="">{f.required ? 'Choose' : 'None'}</option>
            {f.choices.map(c => (
              <option key={String(c)} value={String(c)}>
                {clean(String(c))}
              </option>
            ))}
          </select>
        )
      case 'long':
      case 'json':
        return (
          <textarea
            {...shared}
            className={`${control.area} ${f.kind === 'json' ? control.code : ''}`}
            placeholder={f.kind === 'json' ? 'JSON' : undefined}
            value={text}
            onChange={e => set(e.target.value)}
          />
        )
      default:
        return (
          <input
            {...shared}
            className={control.input}
            type={f.kind === 'text' ? 'text' : 'number'}
            step={f.kind === 'number' ? 'any' : undefined}
            min={f.minimum}
            max={f.maximum}
            value={text}
            onChange={e => set(e.target.value)}
          />
        )
    }
  }
  return (
    <div className={styles.field}>
      <label htmlFor={id} className={f.kind === 'boolean' ? styles.check : undefined}>
        {f.kind === 'boolean' && <input id={id} type="checkbox" checked={value === true} aria-describedby={hint} onChange={e => set(e.target.checked)} />}
        <span>
          <Text>{f.title}</Text>
          {!f.required && <small> optional</small>}
        </span>
      </label>
      {inner()}
      {f.hint && (
        <small id={hint}>
          <Text>{f.hint}</Text>
        </small>
      )}
    </div>
  )
}
