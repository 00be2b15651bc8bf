import {ago, exact} from '../lib/format.ts'
import {Button} from '../ui/parts.tsx'
import styles from './Found.module.css'
import type {LocalDraft} from './local_draft.ts'
import type {Stored} from './stored.ts'

type Props = {found: LocalDraft; stored: Stored; restore: () => void; discard: () => void}

// Found offers a text that was typed in this browser and never stored. It is not applied
// automatically.
export function Found({found, stored, restore, discard}: Props) {
  const newer = found.etag !== stored.etag
  return (
    <section className={styles.found} aria-label="A text that was not stored">
      <p>
        <strong>This browser kept changes that were not stored</strong>, from{' '}
        <time title={exact(found.at)}>{ago(found.at)}</time>
        {found.version !== null && `, made in v${found.version}`}.
        {newer && ' The workflow was changed since: both texts will be shown.'} Until you decide, the document cannot be
        edited.
      </p>
      <div>
        <Button kind="primary" onClick={restore}>
          Restore them
        </Button>
        <Button onClick={discard}>Discard them</Button>
      </div>
    </section>
  )
}
