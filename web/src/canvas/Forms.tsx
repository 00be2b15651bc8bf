import {ArrowDown, ArrowUp, Plus, Trash2} from 'lucide-react'
import {type ReactNode, useEffect, useId, useRef, useState} from 'react'
import {clean} from '../lib/hostile.ts'
import {isRecord} from '../lib/record.ts'
import control from '../ui/control.module.css'
import {Button, IconButton} from '../ui/parts.tsx'
import {Line, Text} from '../ui/Text.tsx'
import type {Bound} from './bound.ts'
import {FieldInput, JSONInput, labelOf} from './Fields.tsx'
import styles from './Forms.module.css'
import field from './Inspector.module.css'
import {type Field, type Form, fieldsOf, initialOf, isFor, isOpen, itemOf, sorted, waysOf} from './schema.ts'

type Props = {form: Form; name: string; hint?: string; required?: boolean; bound: Bound; root: unknown}

// FormField edits the value of a key according to its schema, including the keys inside it. If a
// key has two spellings, it uses the one in the document.
export function FormField({field: f, bound, root}: {field: Field; bound: Bound; root: unknown}) {
  const key = f.names.find(n => isRecord(bound.value) && bound.value[n] !== undefined) ?? f.key
  return <ValueField form={f} name={key} hint={f.hint} required={f.required} bound={bound.child(key)} root={root} />
}

// ValueField edits one value. A value that its form cannot show is shown as JSON.
export function ValueField(props: Props) {
  const {form, name, hint = '', required = false, bound, root} = props
  const {value} = bound
  const fits = value === undefined || value === null || isFor(form, value)
  if (fits && form.kind === 'either') return <Either {...props} />
  if (fits && form.kind === 'group') {
    return (
      <Part name={name} hint={hint} set={value !== undefined} bound={bound}>
        <Group form={form} bound={bound} root={root} />
      </Part>
    )
  }
  if (fits && form.kind === 'list') {
    return (
      <Part name={name} hint={hint} set={value !== undefined} bound={bound}>
        <List form={form} bound={bound} root={root} word={name} />
      </Part>
    )
  }
  if (fits && form.kind === 'map') {
    return (
      <Part name={name} hint={hint} set={value !== undefined} bound={bound}>
        <Names form={form} bound={bound} root={root} />
      </Part>
    )
  }
  const kind = form.kind === 'group' || form.kind === 'list' || form.kind === 'map' ? 'json' : form.kind
  return (
    <FieldInput
      field={{key: name, kind, choices: form.choices, hint, required, holds: form.holds}}
      held={bound}
      set={v => void bound.set(v)}
      readOnly={bound.readOnly}
    />
  )
}

// Part is a value with nested values: it is open if it is set, and closed otherwise.
function Part({
  name,
  hint,
  set,
  bound,
  children,
}: {
  name: string
  hint: string
  set: boolean
  bound: Bound
  children: ReactNode
}) {
  const [open, setOpen] = useState(set && size(bound.value) <= mostOpen)
  return (
    <details className={styles.part} data-key={name} open={open} onToggle={e => setOpen(e.currentTarget.open)}>
      <summary>
        <Text>{labelOf(name)}</Text> <small>{set ? '' : 'not set'}</small>
      </summary>
      <div className={styles.inside}>
        {hint && (
          <small className={field.quiet}>
            <Text>{hint}</Text>
          </small>
        )}
        {children}
        {set && !bound.readOnly && (
          <button type="button" className={field.jump} onClick={() => bound.set(undefined)}>
            Take {labelOf(name).toLowerCase()} away
          </button>
        )}
      </div>
    </details>
  )
}

const mostOpen = 12

const size = (v: unknown): number =>
  v !== null && typeof v === 'object' ? Object.values(v).reduce<number>((n, x) => n + 1 + size(x), 0) : 0

// Group has a field for each key, and for the further keys of the object in the document.
function Group({form, bound, root}: {form: Form; bound: Bound; root: unknown}) {
  const fields = fieldsOf(form.schema, root)
  const data = isRecord(bound.value) ? bound.value : {}
  const {shown, more} = sorted('', fields, data)
  // All fields are shown in the order of the schema, so a field stays in its position while it is
  // filled.
  const all = fields.filter(f => shown.includes(f) || more.includes(f))
  const others = Object.keys(data).filter(k => !fields.some(f => f.names.includes(k)))
  return (
    <>
      {all.map(f => (
        <FormField key={f.key} field={f} bound={bound} root={root} />
      ))}
      {others.map(k => (
        <Raw key={k} name={k} bound={bound.child(k)} />
      ))}
      {isOpen(form) && !bound.readOnly && <AddKey taken={data} add={k => bound.child(k).set('')} />}
    </>
  )
}

// Raw is a key that the form does not know: it is kept, and shown unchanged.
export function Raw({name, bound}: {name: string; bound: Bound}) {
  const id = useId()
  return (
    <div className={field.field} data-key={name}>
      <label htmlFor={id}>
        <Text>{labelOf(name)}</Text>
      </label>
      <JSONInput id={id} disabled={bound.readOnly} held={bound} set={v => void bound.set(v)} />
      <small>
        <Text>{`${name}: as the document has it`}</Text>
      </small>
    </div>
  )
}

function AddKey({taken, add}: {taken: Readonly<Record<string, unknown>>; add: (key: string) => void}) {
  const [typed, setTyped] = useState('')
  const id = useId()
  const key = typed.trim()
  const used = Object.hasOwn(taken, key)
  const done = () => {
    if (key === '' || used) return
    add(key)
    setTyped('')
  }
  return (
    <div className={styles.add}>
      <label htmlFor={id}>Another key</label>
      <input
        id={id}
        className={`${control.input} ${control.code}`}
        value={typed}
        onChange={e => setTyped(e.target.value)}
        onKeyDown={e => e.key === 'Enter' && done()}
      />
      <Button disabled={key === '' || used} title={used ? 'The key is there already' : undefined} onClick={done}>
        <Plus size={14} /> Add
      </Button>
    </div>
  )
}

// titleOf returns a title for a list item from its content.
function titleOf(v: unknown, word: string): string {
  if (typeof v === 'string') return v || word
  if (!isRecord(v)) return word
  const names = [v.name, v.id, v.type, v.agent].find(x => typeof x === 'string' && x !== '')
  return typeof names === 'string' ? names : word
}

function List({form, bound, root, word}: {form: Form; bound: Bound; root: unknown; word: string}) {
  const item = itemOf(form, root)
  const list = Array.isArray(bound.value) ? bound.value : []
  const one = labelOf(word).replace(/s$/, '').toLowerCase()
  return (
    <>
      {list.map((v, i) => {
        const name = `${one} ${i + 1}`
        return (
          <Item key={i} title={titleOf(v, name)} open={list.length === 1}>
            {item.kind === 'group' && isRecord(v) ? (
              <Group form={item} bound={bound.child(i)} root={root} />
            ) : (
              <ValueField form={item} name={name} bound={bound.child(i)} root={root} />
            )}
            {!bound.readOnly && (
              <span className={field.buttons}>
                <IconButton label={`Move ${name} up`} disabled={i === 0} onClick={() => bound.move(i, i - 1)}>
                  <ArrowUp size={14} />
                </IconButton>
                <IconButton
                  label={`Move ${name} down`}
                  disabled={i === list.length - 1}
                  onClick={() => bound.move(i, i + 1)}
                >
                  <ArrowDown size={14} />
                </IconButton>
                <IconButton
                  label={`Delete ${name}`}
                  onClick={() => (list.length === 1 ? bound.set(undefined) : bound.remove(i))}
                >
                  <Trash2 size={14} />
                </IconButton>
              </span>
            )}
          </Item>
        )
      })}
      {!bound.readOnly && (
        <Button onClick={() => bound.child(list.length).set(initialOf(item, root))}>
          <Plus size={14} /> Add {/^[aeiou]/.test(one) ? 'an' : 'a'} {one}
        </Button>
      )}
    </>
  )
}

function Item({title, open, children}: {title: string; open: boolean; children: ReactNode}) {
  const [shown, setShown] = useState(open)
  return (
    <details className={styles.part} open={shown} onToggle={e => setShown(e.currentTarget.open)}>
      <summary>
        <Line max={40}>{title}</Line>
      </summary>
      <div className={styles.inside}>{children}</div>
    </details>
  )
}

// Names edits an object with user-defined names, each with its value.
function Names({form, bound, root}: {form: Form; bound: Bound; root: unknown}) {
  const item = itemOf(form, root)
  const data = isRecord(bound.value) ? bound.value : {}
  return (
    <>
      {Object.keys(data).map((key, i) => (
        <div key={i} className={styles.pair}>
          <NameInput name={key} readOnly={bound.readOnly} rename={next => bound.rename(key, next)} />
          <ValueField form={item} name={`value of ${key}`} bound={bound.child(key)} root={root} />
          {!bound.readOnly && (
            <IconButton label={`Delete ${clean(key)}`} onClick={() => bound.child(key).set(undefined)}>
              <Trash2 size={14} />
            </IconButton>
          )}
        </div>
      ))}
      {!bound.readOnly && <AddKey taken={data} add={k => bound.child(k).set(initialOf(item, root))} />}
    </>
  )
}

// NameInput renames a key once the name is complete.
export function NameInput({
  name,
  rename,
  readOnly,
  label = 'Name',
}: {
  name: string
  rename: (next: string) => boolean
  readOnly: boolean
  label?: string
}) {
  const [typed, setTyped] = useState(name)
  const id = useId()
  useEffect(() => setTyped(name), [name])
  const done = () => {
    if (typed !== name && (typed === '' || !rename(typed))) setTyped(name)
  }
  return (
    <div className={field.field}>
      <label htmlFor={id}>{label}</label>
      <input
        id={id}
        className={`${control.input} ${control.code}`}
        value={typed}
        disabled={readOnly}
        onChange={e => setTyped(e.target.value)}
        onBlur={done}
        onKeyDown={e => {
          if (e.key === 'Enter') done()
          if (e.key === 'Escape') setTyped(name)
        }}
      />
    </div>
  )
}

// wordOf describes the kind of value that a form accepts.
function wordOf(f: Form, root: unknown): string {
  const required = f.kind === 'group' ? fieldsOf(f.schema, root).filter(x => x.required) : []
  if (required.length === 1) return `${labelOf(required[0]!.key).toLowerCase()}…`
  return (
    {
      group: 'by its keys',
      map: 'by names',
      list: 'a list',
      words: 'a list',
      number: 'a number',
      yes: 'yes or no',
      json: 'JSON',
    }[f.kind as string] ?? 'a text'
  )
}

// Either first asks which of several forms a value has.
function Either({form, name, hint = '', bound, root}: Props) {
  const id = useId()
  const {value} = bound
  const ways = waysOf(name, form.schema, root)
  const unset = value === undefined || value === null
  const at = unset ? -1 : ways.findIndex(w => isFor(w, value))
  // The chosen kind stays selected even if its value would match another kind, too.
  const chosen = useRef(-1)
  const now = chosen.current >= 0 && !unset && isFor(ways[chosen.current]!, value) ? chosen.current : at
  const way = ways[now]
  const options = ways.flatMap((w, i) => {
    if (w.kind === 'choice') return w.choices.map(c => ({id: `${i}=${c}`, word: c}))
    if (w.kind === 'yes') return ['yes', 'no'].map(c => ({id: `${i}=${c}`, word: c}))
    return [{id: `${i}`, word: wordOf(w, root)}]
  })
  const is =
    way === undefined
      ? ''
      : way.kind === 'choice'
        ? `${now}=${String(value)}`
        : way.kind === 'yes'
          ? `${now}=${value === true ? 'yes' : 'no'}`
          : `${now}`
  const choose = (next: string) => {
    const [index = '', choice] = next.split(/=(.*)/s)
    chosen.current = index === '' ? -1 : Number(index)
    const w = ways[chosen.current]
    if (!w) bound.set(undefined)
    else if (w.kind === 'yes') bound.set(choice === 'yes')
    else bound.set(choice ?? initialOf(w, root))
  }
  return (
    <div className={styles.either} data-key={name}>
      <div className={field.field}>
        <label htmlFor={id}>
          <Text>{labelOf(name)}</Text>
        </label>
        <select
          id={id}
          className={control.select}
          disabled={bound.readOnly}
          value={is}
          aria-describedby={hint ? `${id}-hint` : undefined}
          onChange={e => choose(e.target.value)}
        >
          <option value="">default</option>
          {options.map(o => (
            <option key={o.id} value={o.id}>
              {clean(o.word)}
            </option>
          ))}
        </select>
        {hint && (
          <small id={`${id}-hint`}>
            <Text>{hint}</Text>
          </small>
        )}
      </div>
      {way && way.kind !== 'choice' && way.kind !== 'yes' && (
        <div className={styles.inside}>
          <Inner form={way} name={name} bound={bound} root={root} />
        </div>
      )}
    </div>
  )
}

// Inner is the form of a value whose heading is already shown.
function Inner({form, name, bound, root}: Props) {
  if (form.kind === 'group') return <Group form={form} bound={bound} root={root} />
  if (form.kind === 'list') return <List form={form} bound={bound} root={root} word={name} />
  if (form.kind === 'map') return <Names form={form} bound={bound} root={root} />
  return <ValueField form={form} name={name} bound={bound} root={root} />
}
