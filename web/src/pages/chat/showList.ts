/** Showing the conversations where there is no room for them at the side. */
import { createContext, useContext } from "react";

const Context = createContext<() => void>(() => undefined);

export const ShowListProvider = Context.Provider;

export function useShowList(): () => void {
  return useContext(Context);
}
