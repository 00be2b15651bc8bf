import {type FormEvent, type ReactNode, useMemo, useState} from 'react'
import {clean} from '../lib/hostile.ts'
import {escape, type Problem, problemsOf} from '../lib/schema_check.ts'
import control from './control.module.css'
import {Button, ErrorBox} from './parts.tsx'
import styles from './SchemaForm.module.css'
import {fieldsOf, initialOf, type SchemaField, type Typed, typedOf, valueOf} from './schema_fields.ts'
import {Text} from './Text.tsx'

// given is the initial value of the form, if the form can show it; children are shown below the
// fields.
type Props = {
  schema: unknown
  given?: unknown
  busy: boolean
  submit: string
  send: (v: Record<string, unknown>) => void
  children?: ReactNode
}

// SchemaForm is a form for an object that must match a schema. A value that the server would reject
// is reported at its field.
export function SchemaForm({schema, given, busy, submit, send, children}: Props) {
  const fields = useMemo(() => fieldsOf(schema), [schema])
  const [typed, setTyped] = useState(
    () =>
      (given !== null && typeof given === 'object' ? typedOf(fields, given as Record<string, unknown>) : null) ??
      initialOf(fields),
  )
  const [error, setError] = useState<unknown>(null)
  const [problems, setProblems] = useState<Problem[]>([])
  const done = (e: FormEvent) => {
    e.preventDefault()
    try {
      setError(null)
      const value = valueOf(fields, typed)
      const found = problemsOf(schema, value)
      setProblems(found)
      if (found.length === 0) send(value)
    } catch (err) {
      setError(err)
    }
  }
  return (
    <form className={styles.form} onSubmit={done}>
      <SchemaFields fields={fields} typed={typed} set={setTyped} problems={problems} />
      {children}
      {error !== null && <ErrorBox error={error} />}
      <div>
        <Button kind="primary" type="submit" disabled={busy}>
          {submit}
        </Button>
      </div>
    </form>
  )
}

type FieldsProps = {fields: SchemaField[]; typed: Typed; set: (t: Typed) => void; problems: Problem[]}

// SchemaFields are only the fields. Problems that belong to no field are shown below them.
export function SchemaFields({fields, typed, set, problems}: FieldsProps) {
  const of = (f: SchemaField) =>
    problems.filter(p => p.pointer === `/${escape(f.name)}` || p.pointer.startsWith(`/${escape(f.name)}/`))
  const known = new Set(fields.flatMap(of))
  return (
    <>
      {fields.map(f => (
        <Input
          key={f.name}
          field={f}
          value={typed[f.name] ?? ''}
          set={v => set({...typed, [f.name]: v})}
          problems={of(f)}
        />
      ))}
      <Problems of={problems.filter(p => !known.has(p))} />
    </>
  )
}

// Problems are listed with their pointers.
export function Problems({of}: {of: Problem[]}) {
  if (of.length === 0) return null
  return (
    <ul className={styles.problems} role="alert">
      {of.map((p, i) => (
        <li key={i}>
          {p.pointer && (
            <code>
              <Text>{p.pointer}</Text>
            </code>
          )}{' '}
          <Text>{p.message}</Text>
        </li>
      ))}
    </ul>
  )
}

type InputProps = {field: SchemaField; value: string | boolean; set: (v: string | boolean) => void; problems: Problem[]}

function Input({field: f, value, set, problems}: InputProps) {
  const id = `field-${f.name}`
  const hint = f.hint ? `${id}-hint` : undefined
  const shared = {id, required: f.required, 'aria-describedby': hint, 'aria-invalid': problems.length > 0 || undefined}
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
        {f.kind === 'boolean' && (
          <input
            id={id}
            type="checkbox"
            checked={value === true}
            aria-describedby={hint}
            onChange={e => set(e.target.checked)}
          />
        )}
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
      <Problems of={problems} />
    </div>
  )
}
