import type {LocalDraft, LocalDrafts} from './local_draft.ts'
import type {DocumentModel} from './model.ts'
import {isConflict, isCurrent, type Stored} from './stored.ts'
import {isUnstored} from './unstored.ts'

// Ports are the functions of the server and of the browser that an editing session uses.
export type Ports = {
  read: () => Promise<Stored>
  store: (was: Stored, text: string) => Promise<Stored>
  publish: (was: Stored) => Promise<Stored>
  drafts: LocalDrafts
  now: () => Date
}

export type State = {
  stored: Stored
  dirty: boolean
  // unsaved reports whether a text is not stored: the text of the document, or the user's merge of
  // both texts of a conflict.
  unsaved: boolean
  busy: 'store' | 'publish' | null
  error: unknown
  // said describes the last action.
  said: string
  // found is a text of this browser that was never stored. Nothing is changed until the user
  // decides about it.
  found: LocalDraft | null
  // conflict is the version that another client stored in the meantime.
  conflict: Stored | null
  // kept reports whether the browser keeps the text that is not stored.
  kept: boolean
}

const keepAfter = 300

const baseOf = (s: Stored) => ({etag: s.etag, version: s.definition.version})

// Session edits one workflow: it stores the text of a model, and never overwrites a version that
// the user has not seen.
export class Session {
  #state: State
  #listeners = new Set<() => void>()
  #timer: ReturnType<typeof setTimeout> | undefined
  // #keptAt is the time of the text that this session keeps in the browser; '' means that it keeps
  // none.
  #keptAt = ''
  // #merged is the user's merge of both texts of a conflict so far, or null if there is none yet.
  #merged: string | null = null
  // #base identifies the version that the text changes: the state that the user has seen.
  #base: Pick<LocalDraft, 'etag' | 'version'>

  constructor(
    readonly model: DocumentModel,
    stored: Stored,
    private readonly ports: Ports,
  ) {
    const found = ports.drafts.read()
    const isOwn = found !== null && isUnstored(stored) && found.text === model.text
    if (isOwn) this.#keptAt = found.at
    const differs = found !== null && found.text !== stored.text && !isOwn
    if (found && found.text === stored.text) ports.drafts.drop()
    this.#base = baseOf(stored)
    const dirty = model.text !== stored.text
    this.#state = {
      stored,
      dirty,
      unsaved: dirty,
      busy: null,
      error: null,
      said: '',
      found: differs ? found : null,
      conflict: null,
      kept: true,
    }
  }

  get state(): State {
    return this.#state
  }

  subscribe(f: () => void): () => void {
    this.#listeners.add(f)
    return () => {
      this.#listeners.delete(f)
    }
  }

  // open follows the model until the returned function is called.
  open(): () => void {
    const leave = this.model.subscribe(u => u.text && this.#changed())
    return () => {
      leave()
      this.keepNow()
    }
  }

  // restore applies the text that the browser kept. If the workflow has changed since, both texts
  // are shown first.
  restore(): void {
    const {found, stored} = this.#state
    if (!found) return
    this.#base = {etag: found.etag, version: found.version}
    this.#set({found: null, conflict: found.etag === stored.etag ? null : stored})
    this.model.setText(found.text, 'restore')
  }

  discard(): void {
    this.ports.drafts.drop()
    this.#set({found: null})
  }

  // save stores the text as the draft, unless it is unchanged. It reports whether the text is
  // stored.
  async save(): Promise<boolean> {
    const {stored, busy, found, conflict} = this.#state
    if (busy || found || conflict) return false
    const text = this.model.text
    if (text === stored.text) {
      this.#set({error: null, said: 'There is no change to store.'})
      return true
    }
    this.#set({busy: 'store', error: null, said: ''})
    try {
      const now = await this.ports.store(stored, text)
      if (!isCurrent(now.definition)) return this.#behind('')
      // The stored document is the text that was sent, without the changes typed in the meantime.
      this.#settle({...now, text}, `Stored as draft v${now.definition.version ?? ''}.`)
      return true
    } catch (error) {
      return this.#refused(error)
    }
  }

  // publish stores unsaved changes, and publishes the draft.
  async publish(): Promise<boolean> {
    if (!(await this.save())) return false
    const {stored} = this.#state
    if (stored.definition.draft === null) {
      this.#set({said: 'There is no draft to publish.'})
      return true
    }
    this.#set({busy: 'publish', error: null, said: ''})
    try {
      const now = await this.ports.publish(stored)
      const said = `Published v${stored.definition.draft}.`
      if (!isCurrent(now.definition) || now.definition.published !== stored.definition.draft) return this.#behind(said)
      this.#settle({...now, text: stored.text}, said)
      return true
    } catch (error) {
      return this.#refused(error)
    }
  }

  // merging records the user's merge of both texts of a conflict so far, so that the browser keeps
  // it.
  merging(text: string): void {
    if (!this.#state.conflict) return
    this.#merged = text === this.model.text ? null : text
    this.#set({})
    this.#keepSoon()
  }

  // resolve ends a conflict with a text that the user chose after seeing both: it is a change to
  // the version of the other client.
  resolve(text: string): void {
    const {conflict} = this.#state
    if (!conflict) return
    this.#merged = null
    this.#base = baseOf(conflict)
    this.#set({stored: conflict, conflict: null, error: null, said: ''})
    this.model.setText(text, 'merge')
    this.#changed()
  }

  // keepNow immediately keeps unsaved changes in the browser.
  keepNow(): void {
    clearTimeout(this.#timer)
    const {found, unsaved} = this.#state
    if (found) return
    if (!unsaved) {
      // Another tab may keep its own text there.
      if (this.#keptAt && this.ports.drafts.read()?.at === this.#keptAt) this.ports.drafts.drop()
      this.#keptAt = ''
      return
    }
    const at = this.ports.now().toISOString()
    const kept = this.ports.drafts.keep({text: this.#merged ?? this.model.text, ...this.#base, at})
    if (kept) this.#keptAt = at
    if (kept !== this.#state.kept) this.#set({kept})
  }

  #changed(): void {
    const dirty = this.model.text !== this.#state.stored.text
    if (dirty !== this.#state.dirty || this.#state.said) this.#set({dirty, said: ''})
    this.#keepSoon()
  }

  #keepSoon(): void {
    clearTimeout(this.#timer)
    if (this.#state.unsaved) this.#timer = setTimeout(() => this.keepNow(), keepAfter)
    else this.keepNow() // everything is undone: the kept text would otherwise be offered after leaving now
  }

  #settle(stored: Stored, said: string): void {
    this.#base = baseOf(stored)
    this.#set({stored, busy: null, said, dirty: this.model.text !== stored.text})
    this.keepNow()
  }

  async #refused(error: unknown): Promise<false> {
    this.keepNow()
    if (!isConflict(error)) {
      this.#set({busy: null, error})
      return false
    }
    return this.#behind('')
  }

  // #behind shows the version that another client stored before this session could, or right after
  // it did. said describes what was done nevertheless.
  async #behind(said: string): Promise<false> {
    this.keepNow()
    try {
      const theirs = await this.ports.read()
      if (theirs.text === this.model.text)
        this.#settle(theirs, 'Another client changed the workflow; its document is the same. Look at it and try again.')
      else this.#set({busy: null, said, conflict: theirs})
    } catch (again) {
      this.#set({busy: null, error: again})
    }
    return false
  }

  #set(part: Partial<Omit<State, 'unsaved'>>): void {
    const state = {...this.#state, ...part}
    this.#state = {...state, unsaved: state.dirty || this.#merged !== null}
    for (const f of this.#listeners) f()
  }
}
