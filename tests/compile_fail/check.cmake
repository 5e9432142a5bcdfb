# Compiles FILE and compares with what its first line says: "// compiles" or "// error: REGEX", a regular
# expression that the compiler's message must match. COMPILER, INCLUDES: as they are.
file(STRINGS ${FILE} first LIMIT_COUNT 1)
list(TRANSFORM INCLUDES PREPEND -I)
execute_process(COMMAND ${COMPILER} -std=c++20 -fsyntax-only ${INCLUDES} ${FILE}
  RESULT_VARIABLE code OUTPUT_VARIABLE output ERROR_VARIABLE output)

if(first STREQUAL "// compiles")
  if(NOT code EQUAL 0)
    message(FATAL_ERROR "should compile, but:\n${output}")
  endif()
elseif(first MATCHES "^// error: (.*)$")
  if(code EQUAL 0)
    message(FATAL_ERROR "compiles, but must not")
  elseif(NOT output MATCHES "${CMAKE_MATCH_1}")
    message(FATAL_ERROR "does not compile, but the message is not /${CMAKE_MATCH_1}/:\n${output}")
  endif()
else()
  message(FATAL_ERROR "the first line must be '// compiles' or '// error: REGEX', not: ${first}")
endif()
