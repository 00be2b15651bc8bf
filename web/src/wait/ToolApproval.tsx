import {useMemo, useState} from 'react'
import {Button} from '../ui/parts.tsx'
import {Value} from '../ui/Value.tsx'
import type {FormProps} from './AnswerForm.tsx'
import {Arguments} from './Arguments.tsx'
import styles from './Decide.module.css'
import {type Draft, draftOf, readDraft} from './draft.ts'

// ToolApproval decides about a tool call: it shows the real arguments, which can be changed if the
// permissions allow it, and the buttons.
export function ToolApproval({wait, off, send, children}: FormProps) {
  const [draft, setDraft] = useState<Draft | null>(null)
  const [shown, setShown] = useState(false)
  const read = useMemo(
    () => (draft ? readDraft(wait.schema, wait.arguments, draft) : null),
    [draft, wait.schema, wait.arguments],
  )
  const changed = (read?.changes.length ?? 0) > 0
  const approve = () => {
    setShown(true)
    if (read && read.problems.length > 0) return
    send({decision: 'approve', ...(read && changed ? {arguments: read.value} : {})})
  }
  return (
    <>
      <section>
        <h2>
          It would call <code className={styles.tool}>{wait.tool}</code> with
        </h2>
        <Value of={wait.arguments} label="the arguments" />
        {wait.changed && (
          <p className={styles.changed}>
            The definition of this tool changed since the run began; approving accepts the new one.
          </p>
        )}
      </section>
      {draft && read ? (
        <section aria-label="Changed arguments">
          <h2>Instead, with</h2>
          <Arguments
            schema={wait.schema}
            held={wait.arguments}
            draft={draft}
            set={setDraft}
            read={read}
            shown={shown}
          />
        </section>
      ) : (
        wait.schema !== undefined &&
        wait.schema !== null && (
          <div>
            <Button disabled={off} onClick={() => setDraft(draftOf(wait.schema, wait.arguments))}>
              Change the arguments
            </Button>
          </div>
        )
      )}
      {children}
      <div className={styles.buttons}>
        <Button kind="danger" disabled={off} onClick={() => send({decision: 'reject'})}>
          Reject
        </Button>
        <Button kind="primary" disabled={off} onClick={approve}>
          {changed ? 'Approve with changes' : 'Approve'}
        </Button>
      </div>
    </>
  )
}
