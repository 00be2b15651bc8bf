import {useMemo} from 'react'
import {isRecord} from '../lib/record.ts'
import control from '../ui/control.module.css'
import {Button} from '../ui/parts.tsx'
import {Problems, SchemaFields} from '../ui/SchemaForm.tsx'
import {fieldsOf, typedOf} from '../ui/schema_fields.ts'
import {Text} from '../ui/Text.tsx'
import styles from './Decide.module.css'
import {type Draft, draftOf, type Read} from './draft.ts'

type Props = {schema: unknown; held: unknown; draft: Draft; set: (d: Draft | null) => void; read: Read; shown: boolean}

// Arguments edits the arguments of a held call. Arguments that do not match the tool's parameters
// are reported by pointer.
export function Arguments({schema, held, draft, set, read, shown}: Props) {
  const fields = useMemo(() => fieldsOf(schema), [schema])
  const other: Draft['as'] = draft.as === 'form' ? 'json' : 'form'
  const current = read.value === undefined ? held : read.value
  const canForm = fields.length > 0 && isRecord(current) && typedOf(fields, current) !== null
  return (
    <div className={styles.edit}>
      {draft.as === 'form' ? (
        <SchemaFields
          fields={fields}
          typed={draft.typed}
          set={typed => set({as: 'form', typed})}
          problems={shown ? read.problems : []}
        />
      ) : (
        <>
          <textarea
            className={`${control.area} ${control.code} ${styles.json}`}
            aria-label="Arguments as JSON"
            spellCheck={false}
            value={draft.text}
            onChange={e => set({as: 'json', text: e.target.value})}
          />
          {shown && <Problems of={read.problems} />}
        </>
      )}
      <div className={styles.small}>
        {(other === 'json' || canForm) && (
          <Button onClick={() => set(draftOf(schema, current, other))}>
            {other === 'json' ? 'Edit as JSON' : 'Edit as a form'}
          </Button>
        )}
        <Button onClick={() => set(null)}>Keep them as they are</Button>
      </div>
      {read.changes.length > 0 && (
        <p className={styles.hint}>
          Changed: <Text>{read.changes.slice(0, 20).join(', ')}</Text>
        </p>
      )}
    </div>
  )
}
