// What the server knows, for pages that ask with TanStack Query. Nothing is fetched again behind a page's back.
import { QueryClient } from "@tanstack/react-query";

export const queryClient = new QueryClient({
  defaultOptions: { queries: { retry: false, refetchOnWindowFocus: false, refetchOnReconnect: false, staleTime: 0 } },
});
